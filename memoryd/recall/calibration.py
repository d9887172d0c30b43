"""The measure of what is worth showing unasked: word frequencies and prompts about nothing.

Both ship with memoryd, in `data/`. The bar of a directory is measured on its own memories: in the
worker thread that builds a shelf, and later on the event loop, a prompt at a time, since the index
belongs to the loop then.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from memoryd.recall.rules.background import Background, rates_in
from memoryd.recall.rules.gate import PromptWeights, bar_of, evidence_in, neutral_weights
from memoryd.recall.rules.index import Index

DATA = Path(__file__).parent / "data"


class Calibration:
    def __init__(self) -> None:
        """Reads the files; takes some ten milliseconds."""
        prompts = (DATA / "neutral_prompts.txt").read_text("utf-8").splitlines()
        rates = rates_in((DATA / "word_frequencies.txt").read_text("utf-8"))
        self.background = Background(rates, prompts)
        self._prompts = prompts

    @cached_property
    def _neutral(self) -> list[PromptWeights]:
        """Only a directory whose bar was not kept needs them."""
        return neutral_weights(self._prompts, self.background)

    def set_bar(self, index: Index) -> None:
        """Measures and sets the bar of a directory; some ten microseconds for each prompt."""
        for _ in self.steps_to_bar(index):
            pass

    def steps_to_bar(self, index: Index) -> Iterator[None]:
        """The same in steps, so that other tasks may run in between; the last one sets the bar."""
        best = []
        for prompt in self._neutral:
            best.append(float(evidence_in(index, prompt).max(initial=0.0)))
            yield
        index.bar = bar_of(best, index.documents.mean_length)
