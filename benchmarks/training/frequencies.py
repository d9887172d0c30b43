"""Makes memoryd/recall/data/word_frequencies.txt: how common words are in what developers write.

usage: frequencies.py FOLDER

Reads FOLDER/texts.tsv of `gather.py`. A line of the result is a frequency class and the terms (as
`text/terms.py` makes them) in it: class N means that about one passage in 1.25**N has the term. The
kinds of texts count alike, whatever their size; definitions, which are a worse guide, count half.
Terms of fewer than four passages are left out. The same texts give the same bytes.
"""

import argparse
import math
from collections import Counter, defaultdict
from pathlib import Path

from memoryd.recall.rules.background import CLASS_RATIO
from memoryd.text.terms import terms_of

OUT = Path(__file__).parents[2] / "memoryd/recall/data/word_frequencies.txt"
KINDS = {"package": 1.0, "manual": 1.0, "readme": 1.0, "gloss": 0.5}
LEAST_PASSAGES = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    passages: Counter[str] = Counter()
    holders: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with (folder / "texts.tsv").open(encoding="utf-8") as file:
        for line in file:
            kind, _, text = line.partition("\t")
            passages[kind] += 1
            holders[kind].update(set(terms_of(text)))
    known = {term for counts in holders.values() for term in counts}
    classes: defaultdict[int, list[str]] = defaultdict(list)
    for term in sorted(known):
        is_plain = term.isalnum() and not term[0].isdigit() and len(term) <= 24
        if is_plain and sum(holders[kind][term] for kind in KINDS) >= LEAST_PASSAGES:
            shares = (
                weight * holders[kind][term] / passages[kind] for kind, weight in KINDS.items()
            )
            rate = sum(shares) / sum(KINDS.values())
            classes[round(-math.log(rate, CLASS_RATIO))].append(term)
    lines = (f"{number} {' '.join(terms)}\n" for number, terms in sorted(classes.items()))
    OUT.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
