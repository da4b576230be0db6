"""The rule-based baseline, the judge `surface`: ratings from what lies on a text's surface, read as English.

The offline default, no language model, and what an LLM judge has to beat: Durmus et al. 2022 (ACL,
"Spurious Correlations in Reference-Free Evaluation") found learned metrics leaning on such features. Each feature is a
function of a hypothesis and its source, and lies in [0, 1].
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache

from nlgjudge.judging.judge import Judge
from nlgjudge.judging.rating_text import lettered
from nlgjudge.judging.tasks import Reply, Task

_WORD = re.compile(r"\w+(?:(?<=\d)[.,]\d+)*")
_BREAK = re.compile(r"(?<=[.!?])[\"'”’)]*\s+|\n+")
_RUN = re.compile(r"([^\W\d_])\1\1|[^\W\d_]\d+[^\W\d_]")
_CLUSTER = re.compile(r"(?=([bcdfghjklmnpqrstvwxz]{3}))")
_PRONOUNS = frozenset(
    _WORD.findall("he she it they him her them his hers its their this that these those")
)
_FUNCTION = _PRONOUNS | frozenset(
    _WORD.findall(
        "the and but for with from into over about after before between through during against without who "
        "whom whose which what when where why how was were are been being have has had having does did doing "
        "will would shall should can could may might must not all any each some such more most other than then "
        "there here too very just only also our your you we us me my i a an in on at by of to as is be do if "
        "or so no up out off"
    )
)
_USUAL = frozenset(_CLUSTER.findall(" ".join(_FUNCTION)))
# Of a task's features, by aspect. Any other aspect, as quality and overall, weighs all features equally.
_FLUENCY = {"spelling": 2, "familiarity": 2, "variety": 1}
_RELEVANCE = {"overlap": 2, "length": 2, "variety": 1}
_CORRECTNESS = {"agreement": 3, "known_entities": 1, "overlap": 1}
WEIGHTS = {
    "coherence": {"cohesion": 3, "overlap": 1, "variety": 1},
    "consistency": {"known_entities": 3, "overlap": 2, "familiarity": 1},
    "fluency": _FLUENCY,
    "naturalness": _FLUENCY,
    "understandability": _FLUENCY,
    "relevance": _RELEVANCE,
    "informativeness": _RELEVANCE,
    "engagingness": {"length": 2, "variety": 1, "grounding": 1},
    "groundedness": {"grounding": 3, "overlap": 1},
    "accuracy": _CORRECTNESS,
    "equivalence": _CORRECTNESS,
    "answer quality": _CORRECTNESS,
}


class Baseline(Judge):
    """A deterministic rule-based judge; its rating is ``low + (high - low) * score(task)``.

    Of a pair, its rating is 1 where the hypothesis scores at least as high as the other text, else 0.
    """

    name = "surface"

    def features(self, hypothesis: str, source: str) -> dict[str, float]:
        """The features of a hypothesis and its source by name, each in [0, 1]."""
        return _features(hypothesis, source)

    def replies(self, tasks):
        for task in tasks:
            if "other" in task.fields:
                text = answer(_preference(task), task)
            else:
                low, high = task.reading.scale or (0, 1)
                text = answer(low + (high - low) * score(task), task)
            for index in range(task.n):
                yield Reply(task.item_id, task.aspect, index, text)


def answer(rating: float, task: Task) -> str:
    """Put a rating within the task's scale (0 to 1 where it has none) into the form that it asks for.

    Rounded to half stars, to whole numbers where the scale is as wide as 0 to 100, else to 0.01. "Yes" is the
    upper half of the scale, but the lower one of consistency: G-Eval asks for an inconsistency.
    """
    low, high = task.reading.scale or (0, 1)
    form = task.reading.form
    if form == "choice":
        scores = lettered(task.reading.options, (low, high)).values()
        rating = min(scores, key=lambda score: abs(score - rating))
    elif form == "yes_no":
        asks_for_a_fault = task.aspect.lower() == "consistency"
        rating = float((rating < (low + high) / 2) == asks_for_a_fault)
    elif form == "stars":
        rating = min(max(round(2 * rating) / 2, low), high)
    elif form == "number" and high - low >= 100:
        rating = round(rating)
    else:
        rating = round(rating, 2)
    text = task.reading.write(rating)
    name = task.aspect or "rating"
    written = {
        "form": f"- {name[:1].upper()}{name[1:]}: {text}",
        "stars": f"{text} stars",
        "yes_no": text.capitalize(),
        "choice": text.upper(),
        "text": f"By rule, the text's {name} is {text} on a scale from {low:g} to {high:g}.",
    }
    return written.get(form, text)


def score(task: Task) -> float:
    """Mean of a task's features, weighted by `WEIGHTS`, in [0, 1]; 0 for a text without words.

    The features' source is `source` and `context` together. `grounding` is the context's overlap with the
    hypothesis, `agreement` the mean of the overlaps of hypothesis and reference with each other.
    """
    names = ("hypothesis", "source", "context", "reference")
    hypothesis, source, context, reference = (task.fields.get(name) or "" for name in names)
    if not _WORD.search(hypothesis):
        return 0.0
    values = _features(hypothesis, f"{source}\n{context}")
    if context:
        values = values | {"grounding": overlap(context, hypothesis)}
    # Items carry a reference even for prompts that do not show it, and then it must not be used.
    if reference and reference in task.text:
        both = overlap(hypothesis, reference) + overlap(reference, hypothesis)
        values = values | {"agreement": both / 2}
    weights = WEIGHTS.get(task.aspect.lower().replace("_", " "), dict.fromkeys(values, 1))
    weights = {name: weight for name, weight in weights.items() if name in values}
    weighed = [weight * values[name] for name, weight in weights.items()]
    return math.fsum(weighed) / sum(weights.values())


def _preference(task):
    other = task._replace(fields=task.fields | {"hypothesis": task.fields["other"]})
    return float(score(task) >= score(other))


@lru_cache(maxsize=4096)  # the aspects of an item share its features
def _features(hypothesis, source):
    features = (overlap, known_entities, variety, length, spelling, cohesion, familiarity)
    return {feature.__name__: feature(hypothesis, source) for feature in features}


def overlap(hypothesis: str, source: str) -> float:
    """Share of the hypothesis's content words that the source has; 0 if it has none."""
    content = _content(hypothesis)
    known = _vocabulary(source)
    return sum(word in known for word in content) / len(content) if content else 0.0


def known_entities(hypothesis: str, source: str) -> float:
    """1 / (1 + k), k the different numbers, and capitalised words within sentences, that the source lacks."""
    entities = set()
    for sentence in _sentences(hypothesis):
        for place, word in enumerate(_WORD.findall(sentence)):
            if word[0].isdigit() or (place > 0 and word[0].isupper()):
                entities.add(word.lower())
    return 1 / (1 + len(entities - _vocabulary(source) - _FUNCTION))


def variety(hypothesis: str, source: str = "") -> float:
    """1 minus the share of word trigrams, or of sentences if larger, that came before."""
    words = _words(hypothesis)
    trigrams = list(zip(words, words[1:], words[2:]))
    sentences = [sentence.lower() for sentence in _sentences(hypothesis)]
    different = [len(set(units)) / len(units) for units in (trigrams, sentences) if units]
    return min(different, default=1.0)


def length(hypothesis: str, source: str) -> float:
    """n/t or t/n, whichever is below 1, for n words; t = 3 sqrt(source's words): 57 for 360, 21 for 50."""
    words = len(_words(hypothesis))
    target = 3 * math.sqrt(len(_words(source)))
    return min(words, target) / max(words, target, 1)


def spelling(hypothesis: str, source: str) -> float:
    """Share of words that are the source's or have no letter three times in a row, no digit between
    letters and, from four letters on, no trigram of consonants unknown to source and function words."""
    words = _words(hypothesis)
    clusters = {*_CLUSTER.findall(source.lower()), *_USUAL}
    odd = 0
    for word in words:
        is_cluster = len(word) > 3 and not clusters.issuperset(_CLUSTER.findall(word))
        odd += word not in _vocabulary(source) and bool(_RUN.search(word) or is_cluster)
    return 1 - odd / max(len(words), 1)


def cohesion(hypothesis: str, source: str = "") -> float:
    """Share of neighbouring sentences with a content word in common or a pronoun in the second's
    first five words; 1 for a single sentence."""
    sentences = _sentences(hypothesis)
    links = [
        not _PRONOUNS.isdisjoint(_words(second)[:5])
        or not set(_content(first)).isdisjoint(_content(second))
        for first, second in zip(sentences, sentences[1:])
    ]
    return sum(links) / len(links) if links else 1.0


def familiarity(hypothesis: str, source: str) -> float:
    """1 minus the mean surprisal of the hypothesis's character trigrams, in units of an unseen one's,
    under a model that adds one to the source's counts."""
    grams = _grams(hypothesis)
    counts = Counter(_grams(source))
    unseen = math.log2(counts.total() + len(counts) + 1)
    gain = math.fsum(math.log2(counts[gram] + 1) for gram in grams)
    return gain / max(len(grams) * unseen, 1)


def _words(text):
    return _WORD.findall(text.lower())


@lru_cache(maxsize=256)  # systems share their sources
def _vocabulary(text):
    return frozenset(_words(text))


def _content(text):
    """Content words, with repetitions."""
    return [
        word
        for word in _words(text)
        if word not in _FUNCTION and (len(word) > 2 or word[0].isdigit())
    ]


def _sentences(text):
    return [sentence for sentence in _BREAK.split(text) if _WORD.search(sentence)]


def _grams(text):
    """Trigrams of characters, blanks at both ends included."""
    text = f" {' '.join(text.lower().split())} "
    return [*map("".join, zip(text, text[1:], text[2:]))]
