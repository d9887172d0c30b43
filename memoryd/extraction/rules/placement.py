"""Whether a statement holds for the person everywhere, or only in the project it was made in.

Rules
- Only what the person said goes to the user scope, and of that only `user` memories and `feedback`
  about how to deal with the person: how to answer, explain and ask, or what they want everywhere.
- What names anything of a project (`private_names`) stays there. So does what is bound to a place
  or a group: this repository, our pipeline, here, the nightly export, a role in a project.
- What the person says of all "our" projects, or of all projects of a group by its name, goes to
  the group that the project is in.
- How the code, its tests, commits and documents are to look is the project's, unless the person
  says that it holds everywhere.
- A model may say where its note belongs. It can keep a note in the project; it can move feedback to
  the user scope, but nothing past the two rules on names and places.
"""

import re
from typing import Final, Literal

from memoryd.memories.rules.private_names import ProjectNames, private_in
from memoryd.memories.rules.topics import TopicType
from memoryd.text.lazy_regex import late

Placed = Literal["user", "group", "project"]

_EVERYWHERE = late(
    r"\b(?:in|for|across|on) (?:all|every|any|each|whatever|whichever)(?: of)?(?: my| the| our)?"
    r" ?(?:other )?(?:project|repo|repositor|codebase|machine|session|language)\w*"
    r"(?: (?:we|i) (?:are|am|work)(?: in| on)?)?"
    r"|\b(?:everywhere|wherever i\b|across (?:all )?(?:my )?projects|no matter (?:which|what)"
    r" (?:project|repo)\w*|regardless of the (?:project|repo)\w*|in general|überall|partout"
    r"|in jedem projekt|en todos (?:mis|los) proyectos)",
    re.IGNORECASE,
)
_HERE = late(
    r"\b(?:we|we're|we've|we'll|our|ours|us|here|let's|wir|uns|unser\w*|hier|nous|notre|nosotros"
    r"|nuestr\w+|aquí)\b"
    r"|\b(?:this|that|these|current|diese[mnrs]?) (?:\w+ )?(?:repo|repositor|project|projekt"
    r"|codebase|code|service|package|module|branch|app|api|team|sprint|release|file|folder|build"
    r"|pipeline|server|client|customer|company|monorepo|workspace|feature|ticket|week|month)\w*"
    r"|\bon[- ]call\b|\b(?:responsible for|in charge of|assigned to|report(?:s|ing)? to"
    r"|work(?:s|ing)? (?:with|on|under)|i own|i(?:'m| am) the|i(?:'m| am) (?:one|part) of"
    r"|i maintain|i lead|i manage)\b",
    re.IGNORECASE,
)
# A thing that the listener is expected to know is a thing of this place, unless it is one of these.
_DEFINITE = late(
    r"\bthe (?!(?:short|long|full|brief|diff|why|how|what|reason|point|answer|reply|response"
    r"|question|summary|result|detail|basic|end|beginning|start|first|last|local|command|terminal"
    r"|shell|screen|same|most|best|usual|way|time|person|user|agent|assistant|step|plan|change"
    r"|problem|error|cause|internet|web|morning|evening|afternoon|weekend|imperative|code|test"
    r"|output|conclusion|language|word|basics|essential|big|bigger|whole|other|bottom|top|keyboard"
    r"|mouse|evidence|trade|option|alternative|risk|simple|next|previous)s?\b)\w+",
    re.IGNORECASE,
)
_ARTEFACT = late(
    r"\b(?:in|into|to|for|from|with|write|writing|use|using|prefer|want|like|keep|make)"
    r" (?:\w+ ){0,2}?(?:commits?|docstrings?"
    r"|comments?|pull requests?|prs?|changelogs?|readmes?|tests?|logs?|docs|documentation"
    r"|branch(?:es)?|migrations?|merges?)\b",
    re.IGNORECASE,
)
_GROUP_WIDE: Final = (
    r"\b(?:in|for|across|on|to)? ?(?:all|every|each|any)(?: one)?(?: of)? (?:our|{group})"
    r"(?: \w+)? ?(?:projects?|repos?|repositor(?:y|ies)|services?|apps?|codebases?|packages?)\b"
    r"|\b(?:every|each) {group} (?:project|repo|repository|service|app)\b"
    r"|\b(?:everywhere|wherever we work) (?:at|in) {group}\b"
)
_THIS_ONE = late(
    r"\b(?:this|that) (?:repo|repository|project|codebase|service|package|app)\b", re.IGNORECASE
)
_ABOUT_PERSON = late(
    r"\b(?:answer|repl(?:y|ies)|respon[ds]|explain|explanation|summar|apologi|emoji|tone\b|verbos"
    r"|concise|brief|jargon|flatter|small ?talk|paragraph|bullet|pleasantr|question|wording"
    r"|sentence|chatty|praise|disclaimer|translate|antwort|erklär|frag|kurz|répon|repond|expliqu"
    r"|respond|contest|pregunt)\w*"
    r"|\b(?:talk|speak|write|lie|sprich|parle) (?:to|with|back to) me\b|\b(?:tell|show|ask|give"
    r"|call|address|warn|remind|teach|interrupt|correct|sag|zeig|gib|dis|dime) ?-?(?:me|mir|moi)?\b"
    r"(?<=me|ir|oi)"
    r"|\bwhen(?:ever)? i (?:say|ask|write|type|tell)\b|\bmy (?:machine|laptop|keyboard|eyes|time)\b"
    r"|\bi(?: (?:would|do|can|also|really|always|usually|generally))? ?(?:prefer|like|hate|dislike"
    r"|want|need|read|learn|think|understand)\b(?! (?:the|this|that|our)\b)",
    re.IGNORECASE,
)
_GUARDED: Final = frozenset({"user", "feedback"})


def place_of(
    type_: TopicType | None, text: str, names: ProjectNames, asked: str = "", group: str = ""
) -> Placed:
    """Where a memory of the person's words belongs; `asked` is what a model said, if one did.

    `group` is the name of the project's group, empty if it is in none.
    """
    if group and type_ != "user" and (asked == "group" or is_group_wide(text, group)):
        return "project" if asked == "project" or _THIS_ONE.search(text) else "group"
    if type_ not in _GUARDED or asked == "project":
        return "project"
    if is_bound(text, names, by_model=asked == "user"):
        return "project"
    if type_ == "user" or asked == "user":
        return "user"
    return "user" if is_about_person(text) else "project"


def is_group_wide(text: str, group: str) -> bool:
    """Whether the person says that it holds in all projects of the group."""
    pattern = _GROUP_WIDE.replace("{group}", re.escape(group))
    return re.search(pattern, text, re.IGNORECASE) is not None


def is_bound(text: str, names: ProjectNames, *, by_model: bool = False) -> bool:
    """Whether it names something of one project, or speaks of the place it was said in.

    What a model means by "the answers" it has judged itself.
    """
    free = _EVERYWHERE.sub(" ", text)
    if _HERE.search(free) or (not by_model and _DEFINITE.search(free)):
        return True
    return private_in(text, names) != ""


def is_about_person(text: str) -> bool:
    """Whether feedback is about dealing with the person, or is meant everywhere."""
    if _EVERYWHERE.search(text):
        return True
    return _ARTEFACT.search(text) is None and _ABOUT_PERSON.search(text) is not None
