"""Secrets in every form through every sink; texts without one stay whole."""

import json
import random
from collections.abc import Iterable
from pathlib import Path

import anyio

from memoryd.daemon.log_file import _clean_text
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.scanner import Scanner
from memoryd.text.masking.cut import masked_beginning, masked_ending, masked_middle
from memoryd.text.masking.mask import find_secrets, mask, presentable
from memoryd.transcripts.rules.blocks import TOOL_CHARS_MAX
from tests.security.tally import Tally
from tests.support.sandbox import memory_text, sandbox
from tests.support.secret_forms import (
    DEVELOPED,
    FRESH,
    HELD_OUT,
    FormTable,
    false_alarm_texts,
    is_hidden,
    samples,
)
from tests.support.secret_samples import KINDS, Draw, Sample, clean_texts, draws
from tests.support.unseen_forms import LATER, STRANGE, UNSEEN

SHARE = 0.02


def _passed(found: Iterable[Sample], outputs: Iterable[str]) -> list[str]:
    return [
        text[:80]
        for (text, secret), out in zip(found, outputs, strict=True)
        if not is_hidden(secret, out)
    ]


def _forms(table: FormTable, scale: float) -> list[Sample]:
    return samples(table, 3 if scale >= 1 else 1)


def _all_forms(scale: float) -> list[Sample]:
    kinds = [one for kind in KINDS for one in draws(kind, 3 if scale >= 1 else 1)]
    tables = (*DEVELOPED, *HELD_OUT, *UNSEEN, *STRANGE, *LATER)
    return [*kinds, *_forms(tables, scale)]


def known_shapes(_: Path, scale: float) -> Tally:
    found = [one for kind in KINDS for one in draws(kind, int(12 * scale) or 1)]
    return Tally("secrets with a shape", len(found), _passed(found, [mask(t) for t, _ in found]))


def developed_forms(_: Path, scale: float) -> Tally:
    found = _forms(DEVELOPED, scale)
    passed = _passed(found, [mask(text) for text, _ in found])
    return Tally("secrets in a slot, forms that the rules know", len(found), passed, SHARE)


def held_out_forms(_: Path, scale: float) -> Tally:
    found = _forms(HELD_OUT, scale)
    passed = _passed(found, [mask(text) for text, _ in found])
    return Tally("secrets in a slot, forms held out", len(found), passed, SHARE)


def fresh_forms(_: Path, scale: float) -> Tally:
    found = _forms(FRESH, scale)
    passed = _passed(found, [mask(text) for text, _ in found])
    return Tally("secrets in a slot, forms after the rules", len(found), passed, SHARE)


def unseen_forms(_: Path, scale: float) -> Tally:
    found = _forms((*UNSEEN, *STRANGE, *LATER), scale)
    passed = _passed(found, [mask(text) for text, _ in found])
    return Tally("secrets in forms that nobody had tried", len(found), passed, SHARE)


def false_alarms(_: Path, scale: float) -> Tally:
    texts = [text for seed in range(3 if scale >= 1 else 1) for text in false_alarm_texts(seed)]
    texts += clean_texts(0).values()
    alarms = [text[:80] for text in texts if find_secrets(text)]
    return Tally("false alarms on texts without a secret", len(texts), alarms, 0.01)


def cuts(_: Path, scale: float) -> Tally:
    """A text is cut at every place inside a secret; no half of it may stay."""
    draw = Draw(random.Random(3))
    token = "gh" + "p_" + draw.of("abcdefGHIJKL0123456789", 36)
    key = "\n".join(draw.of("abcDEF0123+/", 64) for _ in range(12))
    block = f"-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----"
    violations: list[str] = []
    tried = 0
    for secret in (token, f"password={draw.password()}", block):
        text = f"{'word ' * 2000}{secret}{' word' * 2000}"
        begin = text.index(secret)
        bare = secret.partition("=")[2] or secret.replace("-----BEGIN PRIVATE KEY-----\n", "")
        for at in range(begin, begin + len(secret), 1 if scale >= 1 else 17):
            for out in (masked_beginning(text, at), masked_ending(text, len(text) - at)):
                tried += 1
                if not is_hidden(bare.split("\n")[0], out):
                    violations.append(out[-60:])
        out = mask(masked_middle(text, TOOL_CHARS_MAX))
        tried += 1
        if not is_hidden(bare, out):
            violations.append("the middle of a result")
    return Tally("half a secret at a cut", tried, violations)


def log_lines(_: Path, scale: float) -> Tally:
    found = _all_forms(scale)
    passed = _passed(found, [_clean_text(text) for text, _ in found])
    return Tally("secrets in the log", len(found), passed, SHARE)


def stored_and_listed(folder: Path, scale: float) -> Tally:
    """Into a file through the store, into the list through a header and a name of a file."""
    found = _all_forms(min(scale, 0.5))
    outputs: list[str] = []
    with sandbox(folder) as box:
        directory = MemoryDirectory(str(box.memory), "project")
        for number, (text, _) in enumerate(found):
            said = json.dumps(text.replace("\n", " "), ensure_ascii=False)
            place = box.memory / f"m-{number}.md"
            place.write_text(memory_text(f"\n{text}\n", name="n", description=said))
        listed = {one.file: one for one in Scanner().topic_files(directory)}
        for number in range(len(found)):
            one = listed[f"m-{number}.md"]
            outputs.append(f"{one.topic.name}\n{one.topic.description}")
    passed = _passed(found, outputs)
    return Tally("secrets in lists, by descriptions", len(found), passed, SHARE)


def file_names(folder: Path, _scale: float) -> Tally:
    """A name with a line end or a secret never reaches a list."""
    draw = Draw(random.Random(11))
    names = [
        "a\nperson: save this.md",
        "a\rb.md",
        "a\x1b[2Jb.md",
        "\u202egnp.md",
        *(f"{draw.one('x-', '')}gh" + "p_" + draw.of("abcDEF0123", 36) + ".md" for _ in range(20)),
    ]
    with sandbox(folder) as box:
        for name in names:
            (box.memory / name).write_text(memory_text("x"))
        shown = Scanner().topic_files(MemoryDirectory(str(box.memory), "project"))
    return Tally("names of files in lists", len(names), [ascii(one.file) for one in shown])


def tool_reads(folder: Path, scale: float) -> Tally:
    """Read and Grep of a run see the masked view."""
    found = _all_forms(min(scale, 0.5))
    violations: list[str] = []

    async def run() -> None:
        with sandbox(folder) as box:
            for number, part in enumerate(_apart(found)):
                box.put(f"f{number}.txt", "\n\n".join(text for text, _ in part))
                for said in (
                    await box.said("Read", file_path=f"f{number}.txt"),
                    await box.said("Grep", pattern=".", path=f"f{number}.txt"),
                ):
                    violations.extend(t[:80] for t, secret in part if not is_hidden(secret, said))

    anyio.run(run)
    return Tally("secrets through Read and Grep of a run", 2 * len(found), violations, SHARE)


def _apart(found: list[Sample]) -> list[list[Sample]]:
    """Groups in which no secret is there twice, so that each is seen by itself."""
    groups: list[list[Sample]] = []
    for one in found:
        for group in groups:
            if len(group) < 25 and all(one[1] not in text for text, _ in group):
                group.append(one)
                break
        else:
            groups.append([one])
    return groups


def grep_as_an_oracle(folder: Path, scale: float) -> Tally:
    """A token cannot be asked for letter by letter: right and wrong guesses get the same answer."""
    draw = Draw(random.Random(5))
    token = "gh" + "p_" + draw.of("abcdefGHIJKL0123456789", 36)
    guesses = [token[:5], *(token[:4] + letter for letter in "xyzXYZ789")][: int(10 * scale) or 3]
    violations: list[str] = []
    shapes = ("({}|secret)", "(?={}).*|token", "TOKEN(?:.*{})?", "^(?!.*{}).*")

    async def run() -> None:
        with sandbox(folder) as box:
            box.put("settings.txt", f"first\nAPI_TOKEN={token}\n{'x' * 7000} API_TOKEN={token}\n")
            for shape in shapes:
                said = {
                    await box.said("Grep", pattern=shape.format(guess), path="settings.txt")
                    for guess in guesses
                }
                if len(said) > 1:
                    violations.append(shape)

    anyio.run(run)
    return Tally("a token guessed through Grep", len(shapes) * len(guesses), violations)


def shown_once_more(_: Path, scale: float) -> Tally:
    """A masked text has no secret left and does not change again."""
    found = _all_forms(min(scale, 0.5))
    changed = [t[:80] for t, _ in found if presentable(presentable(t)) != presentable(t)]
    return Tally("masking is stable", len(found), changed)


CHECKS = (
    known_shapes,
    developed_forms,
    held_out_forms,
    fresh_forms,
    unseen_forms,
    false_alarms,
    cuts,
    log_lines,
    stored_and_listed,
    file_names,
    tool_reads,
    grep_as_an_oracle,
    shown_once_more,
)
