"""Longest common subsequences of words, as ROUGE-L needs them, and rouge-score's counting with them.

rouge-score fills a table in a Python loop over all pairs of words. Here a row of the table is the bits of one
integer (Hyyrö 2004, "Bit-parallel LCS-length computation revisited"), and each text is split and counted once.
The values are the package's own, to the last digit (tests/metrics/test_lexical.py).
"""

from collections import Counter
from functools import cached_property


class Sequence:
    """Words of a text or sentence, and their counts and places.

    Parameters
    ----------
    words : iterable of str
    """

    def __init__(self, words):
        self.words = tuple(words)

    def __len__(self):
        return len(self.words)

    @cached_property
    def counts(self):
        """Counts of the words."""
        return Counter(self.words)

    @cached_property
    def pairs(self):
        """Counts of the bigrams."""
        return Counter(zip(self.words, self.words[1:]))

    @cached_property
    def places(self):
        """For each word, its positions as bits."""
        found = {}
        for position, word in enumerate(self.words):
            found[word] = found.get(word, 0) | 1 << position
        return found


class Sentences:
    """A text as its sentences.

    Parameters
    ----------
    sentences : list of Sequence
    """

    def __init__(self, sentences):
        self.sentences = sentences
        self.counts = Counter(word for sentence in sentences for word in sentence.words)

    def __len__(self):
        return sum(map(len, self.sentences))


def length(reference, hypothesis):
    """Length of the longest common subsequence.

    Parameters
    ----------
    reference, hypothesis : Sequence

    Returns
    -------
    int

    Examples
    --------
    >>> length(Sequence("the cat sat".split()), Sequence("the dog sat".split()))
    2
    """
    return _table(reference, hypothesis)[2][-1].bit_count()


def positions(reference, hypothesis):
    """Positions in the reference of one longest common subsequence: the one that rouge-score finds.

    Parameters
    ----------
    reference, hypothesis : Sequence

    Returns
    -------
    list of int
        From the last to the first.

    Examples
    --------
    >>> positions(Sequence("the cat sat".split()), Sequence("the dog sat".split()))
    [2, 0]
    """
    shared, matches, rows = _table(reference, hypothesis)
    found = []
    i = len(shared)
    last = 1 << len(hypothesis) >> 1
    longest = rows[i].bit_count()
    while longest:
        at = matches[i - 1]
        grows = rows[i]
        if at & last:
            i -= 1
            last >>= 1
            longest -= 1
            found.append(shared[i])
        elif grows & last or (rows[i - 1] & (2 * last - 1)).bit_count() == longest:
            i -= 1  # nothing is lost without this word of the reference
        else:
            # Without its last word the hypothesis loses nothing, and so on back to the next word that counts:
            # in between the row above stays shorter.
            last = 1 << (((at | grows) & (last - 1)).bit_length() - 1)
    return found


def _table(reference, hypothesis):
    """Positions of the reference's words that the hypothesis has, their places there, and a row after each.

    Bit j of a row is set where the subsequence grows from the first j to the first j + 1 words of the hypothesis.
    """
    shared = [place for place, word in enumerate(reference.words) if word in hypothesis.places]
    matches = [hypothesis.places[reference.words[place]] for place in shared]
    level = everywhere = (1 << len(hypothesis)) - 1
    rows = [0]
    for at in matches:
        common = level & at
        level = ((level + common) | (level - common)) & everywhere
        rows.append(everywhere & ~level)
    return shared, matches, rows


def ngrams(hypothesis, reference):
    """ROUGE-1 and ROUGE-2 of two sequences: precision, recall and F of each."""
    words = (hypothesis.counts & reference.counts).total()
    pairs = (hypothesis.pairs & reference.pairs).total()
    sizes = len(hypothesis), len(reference)
    return *_shares(words, *sizes), *_shares(pairs, *(max(size - 1, 0) for size in sizes))


def as_one(hypothesis, reference):
    """ROUGE-L of two sequences: precision, recall and F."""
    return _shares(length(reference, hypothesis), len(hypothesis), len(reference))


def by_sentence(hypothesis, reference):
    """ROUGE-L of two texts as sentences: precision, recall and F (rouge-score's `rougeLsum`).

    Hits are the words of the reference's sentences in the union of their common subsequences with the hypothesis's
    sentences. A word counts at most as often as it is in both texts (as in ROUGE-1.5.5).
    """
    found = Counter()
    for sentence in reference.sentences:
        union = {place for other in hypothesis.sentences for place in positions(sentence, other)}
        found.update(sentence.words[place] for place in union)
    hits = (found & hypothesis.counts).total()
    return _shares(hits, len(hypothesis), len(reference))


def _shares(hits, hypothesis, reference):
    """Shares of the hits in both lengths, and their harmonic mean, as rouge-score forms them."""
    precision = hits / max(hypothesis, 1)
    recall = hits / max(reference, 1)
    f = 0.0
    if precision + recall > 0:
        f = 2 * precision * recall / (precision + recall)
    return precision, recall, f
