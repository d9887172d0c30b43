"""How people say where things are in systems outside the code, as data.

The tables work as in `phrases`. A place is a SYSTEM with a word of location (LOCATED) or a name of
its own; an unknown system needs both (NAMED_PLACE). A PASSING_PLACE is not a place.
"""
# ruff: noqa: RUF001 - Cyrillic letters and wide punctuation are what these tables are about

import re

from memoryd.extraction.rules.statements import phrases as forms
from memoryd.extraction.rules.statements.phrases import any_of, phrases

ADDRESS = any_of(
    r"\b[a-z][a-z0-9+]+://\S+",
    r"(?<![\w.])(?:[a-z0-9-]+\.)+(?:internal|example|test|local|corp|lan|intern|interno"
    r"|interne)\b(?:[:/]\S*)?",
    r"\b(?:[a-z0-9-]+\.){2,}[a-z]{2,6}\b(?:/\S*)?|\b[a-z0-9-]+\.(?:io|com|org|net|dev|app|cloud"
    r"|ai|co|de|fr|eu)/\S+",
)
SYSTEM = any_of(
    phrases(r"""
    jira; trello; asana; clickup; notion; confluence; airtable; figma; miro; slack; discord
    mattermost; zulip; telegram
    linear (?:project|board|team|workspace|tickets?|issues?)
    (?:in|on|into|to) linear(?! (?:time|space|order|regression|algebra|scale|model))
    grafana; kibana; datadog; new ?relic; splunk; sentry; pagerduty; opsgenie; looker; tableau
    metabase; superset; power ?bi; mixpanel; amplitude; zenodo; zendesk; intercom; hubspot
    salesforce; service ?now; sharepoint; dropbox
    google (?:drive|docs?|sheets?|slides?|calendar|group|forms?)
    gdrive; onedrive; nextcloud; overleaf; zotero; basecamp; monday\.com; youtrack; redmine
    bugzilla; mantis
    (?:gitlab|github) (?:issues|projects?|discussions|wiki)
    dovetail; quip; wandb; mlflow; huggingface; kaggle; statuspage; honeycomb; rollbar; bugsnag
    cloudwatch; stackdriver; teamcity; buildkite; artifactory; 1password; wiki; intranet; obsidian
    logseq; canny; productboard; lokalise; crowdin; feishu; dingtalk; testrail; postman; backstage
    snowflake; bigquery; redash; osf; figshare; gitbook; lucidchart; zeplin; storybook; whatsapp
    altium(?: 365)?; onshape; benchling; labarchives; qualtrics; wrike; smartsheet; gerrit
    phabricator; azure devops; teams channel; on teams; spreadsheet; mailing list
    (?:the|our|lab|team) nas; the ftp; s3 bucket; team share; drive partage; laufwerk
    unidad compartida; intranet; source of truth (?:for|is|on|about); jenkins; rocket\.chat
    stoplight; moodle; forum; launchdarkly; docusign
    (?:shared|network|team) (?:drive|folder|calendar|mailbox|inbox|sheet|doc)
    (?:bug|issue|ticket) (?:tracker|queue|system)
    (?:vendor|customer|partner|admin) (?:portal|console)
    (?:in|on|to|read|at|via|channel|ping|ask|check|with|is) #[a-z][\w-]{2,}
    #[a-z][\w-]{2,} (?:on|channel|slack|discord|is|for)
    """),
    "飞书|钉钉|语雀",
    ADDRESS.pattern,
)
# With a name of its own behind it, which `matchable` blanks.
NAMED_SYSTEM = re.compile(rf"(?:{SYSTEM.pattern}),? [\"“‘«]?¤")
# Something is in a system that is named behind it...
LOCATED_IN = any_of(
    r"\b(?:is|are|lives?|sits?|stays?|kept|keep|stored|tracked|track|logged|documented|written"
    r"|posted|filed|published|maintained|collected|reported|found|hosted|recorded|archived|goes"
    r"|go|ends? up|lands?|happens?|put|moved|discussed|announced|coordinated|described|uploaded"
    r"|comes?|belongs?|log|document|record|shows? up|appears?|hang out|theres"
    r"|there is)\b[^.?]{0,60}\b(?:in|on|at|to|under|into|via|inside|over at|from|through)\b",
)
# ...or a system is what something is.
LOCATED = any_of(
    phrases(r"""
    (?:is|are) (?:the|our) (?:\w+ ){0,3}(?:board|page|dashboard|channel|sheet|doc|project|space|
        place|tracker|wiki|one|base|file|folder|table|spreadsheet|calendar|repo|list|source)
    source of truth; is where; the real \w+ (?:is|are|lives?); only read
    (?:theyre|its) (?:in|on|at|under); you(?:ll)? (?:can )?find
    (?:has|holds|lists|contains) (?:all |the |our |every |everything)\w*
    (?:theres|there is) an? [^.?]+ (?:for|with)
    (?:if|when|whenever|before|in case|for)\b[^.?]{3,50}\b(?:see|check|look|ask|go|use|ping|read|
        theyre|its)
    (?:see|check|look|ask|go|ping|read)\b[^.?]{3,50}\b(?:if|when|whenever|before|in case|first)
    look there; from there
    (?:ask|ping|post|talk|raise it|report (?:it|them)|shout|escalate|reach out) (?:in|on|at|to|with)
    (?:board|dashboard|channel|tracker|wiki|docs?|url|link|runbook|spec) (?:is|are) (?:at|in|on|the|
        #\w+|https?:\S+)
    (?:liegt|liegen|steht|stehen|findest du|findet sich|sind|ist|laufen|landen|
        werden) (?:\w+ ){0,3}(?:in|im|auf|unter|bei|uber)
    (?:est|sont|se trouvent?|vit|vivent) (?:\w+ ){0,2}(?:sur|dans|en|a)
    cest sur; va voir
    (?:esta|estan|se llevan?|viven?|se guardan?|se registran?|van|quedan?) (?:\w+ ){0,2}(?:en|a|al)
    (?:fica|ficam|esta|estao|vai|vao|moram?) (?:\w+ ){0,2}(?:no|na|em|nos|nas|para)
    (?:e|sono|si trovano?|stanno|sta|teniamo) (?:\w+ ){0,2}(?:su|in|nel|nella|sul|sulla)
    (?:staat|staan|zit|zitten|ligt|liggen|vind je) (?:\w+ ){0,2}(?:in|op|onder|bij)
    (?:jest|sa|znajduja sie|leza) (?:\w+ ){0,2}(?:w|na|pod)
    (?:лежит|лежат|находится|находятся|ведутся|ведем|ведется) (?:\w+ ){0,2}(?:в|на)
    """),
    r": [a-z]+://\S+(?:$|,| )|にあります|に置いて|在.{1,20}(?:上|里|中)",
)
# "Check it when ...": where to look, any time; without it, a task for now.
WHEN_NEEDED = re.compile(r"\b(?:if|when|whenever|before|in case|always|first)\b")
# A container with a name, in a system that no list knows.
_IS_KEPT = (
    r"(?:is|are|gets?|goes|go|lives?|comes?|happens?|sits?|stays?|lands?|ends? up|keep|track|theyre"
    r"|its)(?: [a-z]+){0,2}?"
)
_NO_NAME = rf"(?!(?:the|an?|this|that|my|our|it|there)\b|{forms.PROGRAM.pattern})"
_CONTAINER = (
    r"(?:project|board|space|page|base|channel|workspace|folder|list|team|queue|collection|group"
    r"|section|course|vault|tag|service|dataset|module|topic|notebook|entity|label|category|job)"
)
NAMED_PLACE = any_of(
    rf"\b{_IS_KEPT} (?:in|on|at|into|from|through|via) {_NO_NAME}[\w.-]+,? (?:the )?{_CONTAINER} "
    r"(?:is |called |named )?[\w\"“¤]",
    rf"\b{_IS_KEPT} (?:in|on|at|into) {_NO_NAME}[\w.-]+,? (?:the )?(?:[a-z]+ )?[\"“'‘(]*¤",
    rf"\b{_IS_KEPT} (?:in|on|at|into) the [\w.-]+, {_CONTAINER} [\"“'‘(]*¤",
    rf"\b{_IS_KEPT} (?:in|on|at) {_NO_NAME}[a-z]+ under /{{0,2}}\w",
    r"在\S{1,8}[，,]?(?:项目|空间|文档|群)",
)
# On text as written: a container followed by what is plainly its name.
NAMED_CONTAINER = re.compile(
    r"\b(?:space|folder|channel|workspace|project|board|page|site|explore|stream|bucket|vault"
    r"|sheet|file|deck|base|collection|list|group|community|database|queue|view|job|category"
    r"|schedule|notebook|course|service|index|module|topic|dataset|label|Projekt|Seite|projet"
    r"|espace|proyecto|p[áa]gina|projeto|progetto|pagina|projekt|проект|страница),? (?:called "
    r"|named |is )?(?:['\"“‘«][^'\"”’»]+['\"”’»]|[A-Z][\w-]+)|\b(?:called|named"
    r"|titled) ['\"“‘][^'\"”’]+['\"”’]"
)
# One ticket, one pull request, this machine: gone by next week.
PASSING_PLACE = any_of(
    r"^(?:and |ok |so )*here(?:s| is| are)\b",
    r"\blocalhost\b|\b127\.0\.0\.1\b|\b0\.0\.0\.0\b|/(?:pull|pulls|merge_requests|commit"
    r"|actions/runs|blob)/",
    r"\bthe (?:error|bug|problem|issue|crash|leak|failure|culprit|regression) (?:is|was|happens)\b",
    r"\b(?:ticket|issue|bug|story|see) [a-z]{2,10}-\d{1,6}\b|\b[a-z]{2,10}-\d{1,6} (?:is|in|on)\b",
    r"\bi (?:just |already )?(?:put|posted|uploaded|sent|asked|shared|pasted|dropped)\b",
)
