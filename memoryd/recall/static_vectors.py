"""The meaning of a text by its words alone, from two tables that know different things.

The table of `word_vectors` cuts words into pieces: it knows names, other languages and how words
are spelled. That of `meaning_table` knows which words are about the same thing. A text's vector is
both of its vectors, one after the other, so the cosine of two texts is a mean of what the tables
say. Where one table is missing, the other one stands alone.

Neither table is good enough alone. Share of prompts whose memory is among the best five, asked by
`recall`, 60 prompts of each kind: with the first, .40 of those in other words than the memory's,
.95 of those in its words and .47 of those in another language; with the second .50, .90 and .37;
with both .50, .95 and .43. The gain is not sure: all of it came from one half of the prompts in
other words, and on the other half all three found .40.
"""

import math

import msgspec
import numpy as np

from memoryd.recall.meaning_table import MeaningTable
from memoryd.recall.rules.byte_rows import Vector
from memoryd.recall.rules.search import Question
from memoryd.recall.rules.vectors import length_of
from memoryd.recall.word_vectors import WordVectors
from memoryd.text.terms import spoken_words

# What the first table says counts six tenths: from .5 to .65 little changes, with any weight of the
# whole from .6 to 1.
_SHARE_OF_WORDS = 0.6
_FIRST = np.float32(math.sqrt(_SHARE_OF_WORDS))
_SECOND = np.float32(math.sqrt(1 - _SHARE_OF_WORDS))


class StaticVectors(msgspec.Struct, frozen=True):
    """Both tables or one of them."""

    words: WordVectors | None
    meanings: MeaningTable | None

    def vector_of(self, text: str) -> Vector | None:
        """The unit vector of a text; None if it has no words."""
        return self.question(text).word_vector

    def question(self, text: str) -> Question:
        """The query with its vector, its substance and its known words."""
        spoken = spoken_words(text)
        if not spoken:
            return Question(text, substance=0.0)
        of_meanings = None if self.meanings is None else self.meanings.vector_of_words(spoken)
        if self.words is None:
            return Question(text, word_vector=of_meanings)
        summed = self.words.sum_of_words(spoken)
        length = length_of(summed.total)
        of_words = summed.total / np.float32(length) if length else summed.total
        return Question(
            text=text,
            word_vector=of_words if of_meanings is None else _both(of_words, of_meanings),
            substance=length,
            familiar=summed.whole_words,
        )


def _both(first: Vector, second: Vector) -> Vector:
    return np.concatenate([first * _FIRST, second * _SECOND])
