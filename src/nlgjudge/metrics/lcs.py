"""Longest common subsequences of words, as ROUGE-L needs them, and rouge-score's counting with them.

rouge-score fills a table by a Python loop over all pairs of words, which is most of what ROUGE-L costs, and
cuts each text anew for each pair it stands in. Here a row of the table fits into the bits of one integer
(Hyyrö 2004, "Bit-parallel LCS-length computation revisited"), and a text is cut and counted once. The
numbers are the package's own, to the last digit (tests/metrics/test_lcs.py).
"""

from collections import Counter
from functools import cached_property


class Sequence:
    """Words of a text or sentence, and what is needed of them for each text that they are compared with.

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
        """How often each word stands in it."""
        return Counter(self.words)

    @cached_property
    def pairs(self):
        """How often each two neighbours stand in it."""
        return Counter(zip(self.words, self.words[1:]))

    @cached_property
    def places(self):
        """Of each word the positions it stands at, as bits."""
        found = {}
        for position, word in enumerate(self.words):
            found[word] = found.get(word, 0) | 1 << position
        return found


def overlap(counts, others):
    """Total of the smaller of both counts.

    Parameters
    ----------
    counts, others : dict
        As collections.Counter.

    Returns
    -------
    int

    Examples
    --------
    >>> overlap(Counter("aab"), Counter("abb"))
    2
    """
    if len(counts) > len(others):
        counts, others = others, counts
    total = 0
    for gram, count in counts.items():
        other = others.get(gram)
        if other:
            total += other if other < count else count
    return total


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
    level = everywhere = (1 << len(hypothesis)) - 1
    places = hypothesis.places
    for word in reference.words:
        at = places.get(word)
        if at:
            common = level & at
            level = ((level + common) | (level - common)) & everywhere
    return len(hypothesis) - level.bit_count()


def positions(reference, hypothesis):
    """Where in the reference one of the longest common subsequences stands: the one that rouge-score finds.

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
    # A word that the hypothesis lacks changes no length, and is passed by on the way back.
    places = hypothesis.places
    shared = []
    matches = []
    for position, word in enumerate(reference.words):
        at = places.get(word)
        if at:
            shared.append(position)
            matches.append(at)
    if len(shared) < 2:
        return shared
    # After i shared words, bit j is set where the length grows from the first j to j + 1 words.
    level = everywhere = (1 << len(hypothesis)) - 1
    rows = [0]
    for at in matches:
        common = level & at
        level = ((level + common) | (level - common)) & everywhere
        rows.append(everywhere & ~level)
    found = []
    i = len(shared)
    last = 1 << (len(hypothesis) - 1)
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


class Sentences:
    """A text as its sentences.

    Parameters
    ----------
    sentences : list of Sequence
    """

    def __init__(self, sentences):
        self.sentences = sentences
        self.counts = Counter(word for sentence in sentences for word in sentence.words)
        self.length = sum(map(len, sentences))


def union_hits(reference, hypothesis):
    """Words of the reference's sentences in the union of their common subsequences with the hypothesis's.

    A word counts at most as often as it stands in both texts (ROUGE-1.5.5, and rouge-score's `rougeLsum`).

    Parameters
    ----------
    reference, hypothesis : Sentences

    Returns
    -------
    int
    """
    found = {}
    for sentence in reference.sentences:
        union = set()
        for other in hypothesis.sentences:
            union.update(positions(sentence, other))
        for position in union:
            word = sentence.words[position]
            found[word] = found.get(word, 0) + 1
    return overlap(found, hypothesis.counts)


def unigrams(hypothesis, reference):
    """ROUGE-1 of two sequences: precision, recall and F."""
    return _shares(overlap(hypothesis.counts, reference.counts), len(hypothesis), len(reference))


def bigrams(hypothesis, reference):
    """ROUGE-2 of two sequences: precision, recall and F."""
    hits = overlap(hypothesis.pairs, reference.pairs)
    return _shares(hits, max(len(hypothesis) - 1, 0), max(len(reference) - 1, 0))


def as_one(hypothesis, reference):
    """ROUGE-L of two sequences: precision, recall and F."""
    return _shares(length(reference, hypothesis), len(hypothesis), len(reference))


def by_sentence(hypothesis, reference):
    """ROUGE-L of two texts as sentences: precision, recall and F (rouge-score's `rougeLsum`)."""
    return _shares(union_hits(reference, hypothesis), hypothesis.length, reference.length)


def _shares(hits, hypothesis, reference):
    """Shares of the hits in both lengths, and their harmonic mean, as rouge-score forms them."""
    precision = hits / max(hypothesis, 1)
    recall = hits / max(reference, 1)
    f = 0.0
    if precision + recall > 0:
        f = 2 * precision * recall / (precision + recall)
    return precision, recall, f
