"""DHP's perturbations of good texts (Wang et al. 2024, section 4.1, Tables 1 and 2, appendix B).

`paper.toml` lists kinds and sizes. Where the paper has a language model rewrite, a stand-in by rule makes the change,
and the column `origin` says so; a `rewriter` asks a model instead.
Draws come from `random.Random` seeded with a string, which gives the same texts on every machine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import starmap
from typing import Any, NamedTuple

import pandas as pd

from nlgjudge.data.checks import check_known
from nlgjudge.data.own_tables import read_table
from nlgjudge.namespaces import optional
from nlgjudge.papers.dhp.rewriting import rewrite
from nlgjudge.papers.folders import paper

# Kinds of error of the package `typo`, which has nine (the paper names none), and the letters that one takes.
_TYPOS = {"missing_char": 2, "char_swap": 2, "extra_char": 1, "nearby_char": 1}
# Words that are wrong in each other's place. A word of two pairs is replaced by that of the last.
_CONFUSED = """
is/are was/were has/have does/do he/him she/her they/them we/us a/an in/at to/for of/from on/into with/by
who/which this/these that/those their/them his/him and/but
"""
_PAIRS = [pair.split("/") for pair in _CONFUSED.split()]
_WRONG = {word: other for pair in _PAIRS for word, other in (pair, pair[::-1])}
_OPENINGS = ("In other words: ", "Put differently: ", "That is to say: ")
_PUNKT = optional("nltk.tokenize.punkt", "metrics").PunktSentenceTokenizer()


class TooShort(ValueError):
    """A text has fewer places for an edit than the edit needs."""


class Perturbation(NamedTuple):
    """A kind of change that makes a text worse."""

    name: str  # as "deletions"
    degree: str  # minor, major or empty
    k: int  # number of edits, 0 for all
    level: str = ""  # character, word or sentence
    origin: str = "rule"  # or stand-in, for what a language model writes in the paper

    @property
    def label(self) -> str:
        """Name and degree."""
        return f"{self.name}, {self.degree}" if self.degree else self.name


class Versions(NamedTuple):
    """Texts and their perturbed copies.

    `items` has the items' columns, `item_id` made unique, and `original` (the item's own id), `perturbation`
    (``"original"`` for the text itself), `level`, `origin`.
    """

    items: pd.DataFrame
    left_out: pd.DataFrame  # original, perturbation, reason of copies that could not be made


def perturbations(dataset, kinds=None):
    """The perturbations of a dataset with their sizes (Table 2), all or those of some labels."""
    method = paper("dhp").method
    check_known("benchmark that DHP perturbs", dataset, method["tasks"])
    by_label = {}
    for entry in method["perturbations"]:
        if dataset in entry["datasets"]:
            for degree, k in zip(("minor", "major") if len(entry["k"]) > 1 else ("",), entry["k"]):
                kind = Perturbation(entry["name"], degree, k, entry["level"], entry["origin"])
                by_label[kind.label] = kind
    for label in kinds or ():
        check_known(f"perturbation of {dataset}", label, by_label)
    return [kind for label, kind in by_label.items() if kinds is None or label in kinds]


def perturb(
    items: Any,
    plan: str | Sequence[tuple],
    *,
    kinds: Sequence[str] | None = None,
    seed: int = 0,
    rewriter: Any = None,
) -> Versions:
    """Perturb each text in each way of a plan.

    Parameters
    ----------
    items
        `item_id, doc_id, hypothesis`, and for wrong endings `wrong`; from `nlgjudge.dhp.originals`. Or copies that are
        made already: a table, a file or a set of the Hugging Face Hub, as `nlgjudge.data.own_data` takes them, with
        the columns `original`, `perturbed` and `kind` (as ``"typos, minor"``), and `source` and `context` where
        prompts show them. Nothing is perturbed then.
    plan
        A dataset of the paper, for its plan in Table 2, or name, degree and number of edits of each perturbation.
    kinds
        Of a dataset's plan, the perturbations wanted, as ``"typos, minor"``; all by default.
    seed
        A copy depends on the seed, the item's id and the perturbation only. Random endings and answers also depend on
        the other items.
    rewriter
        A judge that writes what a language model wrote in the paper, in the place of the stand-ins; for a
        dataset's plan only. `origin` is then ``"llm:"`` and its name.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> items = nj.dhp.originals(nj.load("summeval", "sample"), 2)
    >>> made, left_out = perturb(items, [("typos", "minor", 3)])
    >>> made["perturbation"].tolist(), len(left_out)
    (['original', 'original', 'typos, minor', 'typos, minor'], 0)
    """
    if not isinstance(items, pd.DataFrame) or "perturbed" in items:
        return Versions(
            _ready_made(items), pd.DataFrame(columns=["original", "perturbation", "reason"])
        )
    entries = perturbations(plan, kinds) if isinstance(plan, str) else plan
    same = {"perturbation": "original", "level": "", "origin": "original"}
    rows = [items.assign(original=items["item_id"], **same)]
    left_out = []
    for perturbation in starmap(Perturbation, entries):
        copies, reasons = _copies(items, perturbation, seed)
        rows.append(copies)
        left_out += reasons
    made = pd.concat(rows, ignore_index=True)
    if rewriter is not None:
        made, reasons = rewrite(made, paper("dhp").method["tasks"][plan], rewriter)
        left_out += reasons
    return Versions(made, pd.DataFrame(left_out, columns=["original", "perturbation", "reason"]))


def _ready_made(source):
    """Originals and copies from a table with a row for each copy."""
    table = read_table(source).frame
    lacking = [name for name in ("original", "perturbed", "kind") if name not in table]
    if lacking:
        raise ValueError(
            f"expected columns original, perturbed and kind; there is no {', '.join(lacking)} among {', '.join(table)}"
        )
    for name in ("source", "context"):
        if name not in table:
            table[name] = ""
    numbers = pd.factorize(table["original"])[0]
    table["original_text"], table["original"] = (
        table["original"],
        [f"text {n + 1}" for n in numbers],
    )
    levels = {entry["name"]: entry["level"] for entry in paper("dhp").method["perturbations"]}
    copies = table.assign(
        item_id=table["original"] + "#" + table["kind"],
        hypothesis=table["perturbed"],
        perturbation=table["kind"],
        level=table["kind"].str.split(",").str[0].map(levels).fillna("sentence"),
        origin="given",
    )
    texts = table.drop_duplicates("original")
    texts = texts.assign(item_id=texts["original"], hypothesis=texts["original_text"])
    texts = texts.assign(perturbation="original", level="", origin="original")
    made = pd.concat([texts, copies], ignore_index=True).drop_duplicates("item_id")
    made["references"] = [[] for _ in range(len(made))]
    columns = [
        "item_id",
        "source",
        "hypothesis",
        "references",
        "context",
        "original",
        "perturbation",
    ]
    return made.assign(doc_id=made["original"])[[*columns, "doc_id", "level", "origin"]]


def _copies(items, perturbation, seed):
    """Copies of all texts, and item, perturbation and reason of those that could not be made."""
    texts, left_out = {}, []
    for item in items.itertuples():
        rng = random.Random(f"{seed}/{perturbation.label}/{item.item_id}")
        try:
            texts[item.Index] = _edited(item, items, perturbation, rng)
        except TooShort as error:
            left_out.append((item.item_id, perturbation.label, str(error)))
    originals = items.loc[list(texts)]
    copies = originals.assign(
        item_id=originals["item_id"] + "#" + perturbation.label,
        hypothesis=pd.Series(texts, dtype=object),
        original=originals["item_id"],
        perturbation=perturbation.label,
        level=perturbation.level,
        origin=perturbation.origin,
    )
    return copies, left_out


def _edited(item, items, perturbation, rng):
    if perturbation.name == "wrong ending":
        return item.wrong
    if perturbation.name in ("random ending", "random answer"):
        elsewhere = (items["doc_id"] != item.doc_id) & (items["hypothesis"] != item.hypothesis)
        others = items.loc[elsewhere, "hypothesis"]
        (place,) = _chosen(range(len(others)), 1, rng, "other texts")
        return others.iloc[place]
    check_known("perturbation", perturbation.name, EDITS)
    return EDITS[perturbation.name](item.hypothesis, perturbation.k, rng)


def delete_characters(text, k, rng):
    """Delete k alphanumeric characters."""
    places = [i for i, character in enumerate(text) if character.isalnum()]
    gone = set(_chosen(places, k, rng, "letters and digits"))
    return "".join(character for i, character in enumerate(text) if i not in gone)


def add_typos(text, k, rng):
    """Make k errors of the package `typo`, no two at one letter.

    A letter is missing, a neighbouring key stands before it or in its place, or two letters are swapped.
    """
    edits = []
    free = [character.isalnum() for character in text]
    state = random.getstate()  # the package seeds the global generator
    for place in rng.sample(range(len(text)), len(text)):
        if len(edits) == k:
            break
        edit = _typo(text, place, free, rng)
        if edit:
            edits.append(edit)
            start, end, _ = edit
            free[start:end] = [False] * (end - start)
    random.setstate(state)
    if len(edits) < k:
        raise TooShort(f"room for {len(edits)} typos, not {k}")
    return _replaced(text, edits)


def _typo(text, start, free, rng):
    """Start, end and new letters of the first kind that changes something there, in random order; or None."""
    for kind in rng.sample(list(_TYPOS), len(_TYPOS)):
        end = start + _TYPOS[kind]
        if end > len(text) or not all(free[start:end]):
            continue
        old = text[start:end]
        mistake = getattr(optional("typo", "metrics").StrErrer(old, rng.getrandbits(32)), kind)
        new = mistake().result
        if new != old:  # it also swaps equal letters and keeps those that its keyboard lacks
            return start, end, new
    return None


def delete_words(text, k, rng):
    """Delete k words in a row, never all."""
    words = list(re.finditer(r"\S+\s*", text))
    if len(words) <= k:
        raise TooShort(f"{len(words)} words, not more than {k}")
    first = rng.randrange(len(words) - k + 1)
    before = text[: words[first].start()]
    after = text[words[first + k - 1].end() :]
    return before + after if after else before.rstrip()


def reorder(text, k, rng):
    """Permute k sentences (0 for all), never as they were."""
    spans = sentences(text)
    parts = [text[start:end] for start, end in spans]
    if len(parts) < max(k, 2) or len(set(parts)) < 2:
        raise TooShort(f"{len(parts)} sentences, too few that differ to reorder {k or 'them'}")
    while True:
        places = rng.sample(range(len(parts)), k or len(parts))
        new = rng.sample(places, len(places))
        if [parts[place] for place in new] != [parts[place] for place in places]:
            edits = [(*spans[place], parts[other]) for place, other in zip(places, new)]
            return _replaced(text, edits)


def invent_entities(text, k, rng):
    """Stand-in: replace k numbers and names by invented ones.

    A name is a capitalised word within a sentence. Where there are fewer than k, the longest other words
    are taken too.
    """
    words = list(re.finditer(r"\w+", text))
    named = [word for word in words if _names_something(word, text)]
    others = [word for word in words if word not in named and len(word[0]) > 3]
    others.sort(key=lambda word: -len(word[0]))
    lacking = max(k - len(named), 0)
    chosen = _chosen(named + others[:lacking], k, rng, "names, numbers or long words")
    return _replaced(text, [(*word.span(), _invented(word[0], rng)) for word in chosen])


def _names_something(word, text):
    """Whether a match in a text is a number, or capitalised without beginning a sentence."""
    if word[0][0].isdigit():
        return True
    begins_sentence = re.search(r"(^|[.!?]\W*)$", text[: word.start()])
    return word[0][0].isupper() and not begins_sentence


def make_ungrammatical(text, k, rng):
    """Stand-in: get k words wrong in number, tense, case or preposition."""
    edits = []
    for word in re.finditer(r"[^\W\d_]+", text):
        wrong = _ungrammatical(word[0])
        if wrong:
            edits.append((*word.span(), wrong))
    return _replaced(text, _chosen(edits, k, rng, "words to get wrong"))


def repeat_sentences(text, k, rng):
    """Stand-in: repeat k sentences right after themselves."""
    edits = []
    for start, end in _chosen(sentences(text), k, rng, "sentences"):
        again = f" {rng.choice(_OPENINGS)}{text[start:end]}"
        edits.append((end, end, again))
    return _replaced(text, edits)


EDITS = {
    "deletions": delete_characters,
    "typos": add_typos,
    "word deletions": delete_words,
    "fictional entities": invent_entities,
    "grammatical errors": make_ungrammatical,
    "reordering": reorder,
    "rewriting and insertion": repeat_sentences,
}


def sentences(text):
    """Start and end of each sentence, by NLTK's Punkt without its downloaded list of abbreviations."""
    return list(_PUNKT.span_tokenize(text))


def _chosen(places, k, rng, what):
    """k of the places at random."""
    if len(places) < k:
        raise TooShort(f"{len(places)} {what}, not {k}")
    return rng.sample(places, k)


def _replaced(text, edits):
    """Text after edits, each a start, an end and the new text between; from the last one on."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _invented(word, rng):
    """Another number, or a word that does not exist, capitalised like the one given."""
    while True:
        if word[0].isdigit():
            new = "".join(rng.choice("123456789") for _ in word)
        else:
            new = ""
            for _ in range(len(word) // 2 + 1):
                new += rng.choice("bdfgklmnprstvz") + rng.choice("aeiou")
            if word.isupper():
                new = new.upper()
            elif word[0].isupper():
                new = new.title()
        if new != word:
            return new


def _ungrammatical(word):
    """A word confused with this one, or this one without its ending; empty where there is neither."""
    lower = word.lower()
    inflected = re.fullmatch(r"(.{3,})ed|(.{2,}[^s])s", lower)
    stem = (inflected[1] or inflected[2]) if inflected else ""
    wrong = _WRONG.get(lower, stem)
    return wrong.title() if word[0].isupper() else wrong
