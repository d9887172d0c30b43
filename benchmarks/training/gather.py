"""Collects the public texts that the tables of word frequencies and of meanings are made from.

usage: gather.py FOLDER

Writes FOLDER/texts.tsv (kind, tab, text; one sentence or a few a line), using the package managers
as they are set up on this machine; nothing is installed. Kinds of texts:

- package: what a Debian package is for, its summary and its description by paragraphs;
- gloss: a definition or an example of WordNet 3.0, under the word that it defines;
- readme: paragraphs of the README of Python packages that many Debian packages depend on;
- manual: paragraphs of Git's release notes, Debian's guides and Python's questions and answers.

The registries move on, so another day gives other texts; `frequencies.py` and `meaning.py` give the
same tables for the same file.
"""

import argparse
import gzip
import html
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

MANUALS = ("git", "debian-faq", "developers-reference", "python3.11-doc", "wordnet-base")
APT_HELPER = "/usr/lib/apt/apt-helper"
READMES = 250
SHORTEST, LONGEST = 12, 400
_TAGS = re.compile(r"<(script|style|pre)\b.*?</\1>|<[^>]+>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```.*?(```|$)", re.DOTALL)
_LINKS = re.compile(r"!\[[^\]]*\]\([^)]*\)|\[!\[.*|https?://\S+|`{2}|\.\. .*|:\w+:")


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def lists_of(folder: Path) -> list[str]:
    """Options that make apt keep its lists, with the long descriptions, in our folder."""
    (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
    options = (f"Dir::State::Lists={folder}/lists", f"Dir::Cache={folder}/apt")
    return [
        word
        for option in (*options, "Acquire::Languages=en", "APT::Sandbox::User=root")
        for word in ("-o", option)
    ]


def packages_of(folder: Path) -> Iterator[dict[str, str]]:
    """The entries of apt's lists: dependencies in one kind of list, descriptions in the other."""
    run("apt-get", "-q", *lists_of(folder), "update")
    for path in sorted((folder / "lists").glob("*_main_*")):
        for entry in run(APT_HELPER, "cat-file", str(path)).split("\n\n"):
            yield dict(re.findall(r"^([\w-]+): ?(.*(?:\n .*)*)", entry, re.MULTILINE))


def described(package: dict[str, str]) -> list[str]:
    """The summary and the paragraphs of a description."""
    summary, _, rest = package.get("Description-en", "").partition("\n")
    return [summary, *re.sub(r"\n (?! )", " ", rest).split(" . ")]


def glosses(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("usr/share/wordnet/data.*")):
        for line in path.read_text("utf-8").splitlines():
            if " | " in line and not line.startswith("  "):
                head, _, gloss = line.partition(" | ")
                fields = head.split()
                words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
                shown = ", ".join(word.replace("_", " ") for word in words[:3])
                meaning, *examples = gloss.split('; "')
                yield f"{shown}: {meaning}"
                yield from (example.strip(' "') for example in examples)


def unpacked(folder: Path, package: str) -> Path:
    """The files of a Debian package, downloaded and unpacked."""
    target = folder / "unpacked" / package
    if not target.is_dir():
        (folder / "debs").mkdir(exist_ok=True)
        subprocess.run(["apt-get", "download", "-q", package], cwd=folder / "debs", check=True)
        (archive,) = (folder / "debs").glob(f"{package}_*.deb")
        target.mkdir(parents=True)
        subprocess.run(["dpkg-deb", "-x", str(archive), str(target)], check=True)
    return target


def manuals(folder: Path) -> Iterator[str]:
    for name in MANUALS[:-1]:
        for path in sorted(unpacked(folder, name).rglob("*")):
            is_wanted = "RelNotes" in str(path) or "/faq/" in str(path) or "whatsnew" in str(path)
            if path.is_file() and not path.is_symlink() and (is_wanted or "debian" in str(path)):
                yield from paragraphs_of(path)


def paragraphs_of(path: Path) -> Iterator[str]:
    if not path.name.endswith((".txt", ".txt.gz", ".html")):
        return
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "replace")
    if path.suffix == ".html":
        text = html.unescape(_TAGS.sub(" ", re.sub(r"</(p|li|h\d|dd|dt)>", "\n\n", text)))
    yield from re.split(r"\n\s*\n|\n \* ", text)


def readmes(folder: Path, packages: Iterable[dict[str, str]]) -> Iterator[str]:
    """The READMEs of the Python packages that most Debian packages depend on."""
    wanted = Counter(
        name
        for package in packages
        for name in set(re.findall(r"\bpython3-([a-z0-9.+-]+)", package.get("Depends", "")))
    )
    kept = folder / "readmes"
    kept.mkdir(exist_ok=True)
    for name, _ in sorted(wanted.items(), key=lambda item: (-item[1], item[0]))[:READMES]:
        path = kept / f"{name}.json"
        if not path.exists():
            asked = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--no-deps"]
            asked += ["--ignore-installed", "--only-binary", ":all:", "--report", "-", name]
            path.write_text(run(*asked) or "{}")
        for one in json.loads(path.read_text()).get("install", []):
            text = _LINKS.sub(" ", _FENCE.sub("\n\n", one["metadata"].get("description", "")))
            yield one["metadata"].get("summary", "")
            yield from re.split(r"\n\s*\n|\n[-*] ", _TAGS.sub(" ", text))


def tidy(text: str) -> str:
    return " ".join(text.split())[:LONGEST]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    packages = list(packages_of(folder))
    seen: set[str] = set()
    with (folder / "texts.tsv").open("w", encoding="utf-8") as out:
        for kind, texts in (
            ("package", (text for package in packages for text in described(package))),
            ("gloss", glosses(unpacked(folder, "wordnet-base"))),
            ("manual", manuals(folder)),
            ("readme", readmes(folder, packages)),
        ):
            for text in map(tidy, texts):
                if len(text) >= SHORTEST and text not in seen:
                    seen.add(text)
                    out.write(f"{kind}\t{text}\n")


if __name__ == "__main__":
    main()
