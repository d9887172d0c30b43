"""Cuts a word that a table does not have into words that it has.

Of all ways to cut it, the one with the fewest pieces and the fewest letters left over is taken.
Pieces of alphabets have at least `SHORTEST_PIECE` letters: shorter ones are in every word. Scripts
written without spaces have short words, so any length will do there. A word of which too much is
left over has no pieces: it is a name or a typo, and its accidental parts would mean nothing.
"""

from collections.abc import Container

from memoryd.text.terms import is_unspaced

SHORTEST_PIECE = 4
LONGEST_PIECE = 24
LONGEST_WORD = 64
_PIECE_COST = 1.0
_LEFT_OVER_COST = 0.7
_MOST_LEFT_OVER = 0.34


def pieces_of(word: str, vocabulary: Container[str]) -> list[str]:
    word = word[:LONGEST_WORD]
    shortest = 1 if is_unspaced(word[:1]) else SHORTEST_PIECE
    if len(word) < shortest:
        return []
    costs, cuts = [0.0], [0]
    for end in range(1, len(word) + 1):
        best, cut = costs[end - 1] + _LEFT_OVER_COST, -(end - 1) - 1
        for start in range(max(0, end - LONGEST_PIECE), end - shortest + 1):
            cost = costs[start] + _PIECE_COST
            if cost < best and word[start:end] in vocabulary:
                best, cut = cost, start
        costs.append(best)
        cuts.append(cut)
    return _pieces_at(word, cuts)


def _pieces_at(word: str, cuts: list[int]) -> list[str]:
    """The pieces between the cuts; a negative cut is a letter that is left over."""
    pieces, left_over, end = [], 0, len(word)
    while end > 0:
        if cuts[end] < 0:
            left_over += 1
            end -= 1
        else:
            pieces.append(word[cuts[end] : end])
            end = cuts[end]
    return pieces[::-1] if left_over <= _MOST_LEFT_OVER * len(word) else []
