"""A judge without a language model: ratings from what lies on a text's surface.

The offline default, and the baseline that an LLM judge has to beat before its agreement with
people means anything: Durmus et al. 2022 (ACL, "Spurious Correlations in Reference-Free
Evaluation of Text Generation") found learned metrics that leaned on such features. Every feature
is in [0, 1], 1 the better end. Words and capitals are read as in English.
"""

import json
import math
import re
from collections import Counter
from functools import lru_cache

from nlgjudge.judging.tasks import Reply

_WORD = re.compile(r"\w+(?:(?<=\d)[.,]\d+)*")
_BREAK = re.compile(r"(?<=[.!?])[\"'”’)]*\s+|\n+")
# Three equal letters, a digit between letters, or five consonants in a row.
_MALFORMED = re.compile(r"([^\W\d_])\1\1|[^\W\d_]\d+[^\W\d_]|[bcdfghjklmnpqrstvwxz]{5}")
_PRONOUNS = frozenset("he she it they him her them his hers its their this that these those such".split())
_FUNCTION = _PRONOUNS | frozenset(
    "the and but for nor yet with from into onto over under about after before between through during "
    "against without within who whom whose which what when where why how was were are been being have "
    "has had having does did doing will would shall should can could may might must not all any each "
    "some more most other than then there here too very just only also our your mine you we us me my i "
    "a an in on at by of to as is be do if or so no up out off".split())
# Words of a text that suits a source of n words are some 3 sqrt(n): 57 for 360, 21 for 50.
_TARGET = 3.0

WEIGHTS = {
    "coherence": {"cohesion": 3, "overlap": 1, "variety": 1},
    "consistency": {"known_entities": 3, "overlap": 2, "familiarity": 1},
    "fluency": {"spelling": 2, "familiarity": 2, "variety": 1},
    "relevance": {"overlap": 2, "length": 2, "variety": 1},
    "informativeness": {"overlap": 2, "length": 2, "known_entities": 1},
    "naturalness": {"spelling": 2, "familiarity": 1, "variety": 1},
    "quality": {"spelling": 1, "familiarity": 1, "variety": 1, "overlap": 1, "length": 1},
    "engagingness": {"length": 2, "variety": 1, "grounding": 1},
    "groundedness": {"grounding": 3, "overlap": 1},
    "understandability": {"spelling": 2, "familiarity": 1, "cohesion": 1},
    "accuracy": {"known_entities": 2, "overlap": 1, "length": 1, "agreement": 2},
    "equivalence": {"agreement": 3, "known_entities": 1},
    "answer quality": {"agreement": 3, "known_entities": 1},
}  # the rest, "overall" among them, weigh all features equally


class Surface:
    """A deterministic rule-based judge: the same task gets the same reply, n times over.

    The rating is ``low + (high - low) * m``, m the mean of the features weighted by `WEIGHTS`.
    A text without words gets the lowest rating. `agreement` counts only where the prompt shows
    the reference, `grounding` only where there is a context.
    """

    name = "surface"

    def replies(self, tasks):
        """Yield a `Reply` per sample of each of `tasks` (an iterable of `Task`)."""
        for task in tasks:
            low, high = task.scale or (0, 1)
            text = answer(low + (high - low) * score(task), task)
            for index in range(task.n):
                yield Reply(task.item_id, task.aspect, index, text)


def answer(rating, task):
    """Put a rating within the task's scale (0 to 1 where it has none) into the form asked for.

    Rounded to half stars, to whole numbers on scales as wide as 0 to 100, to 0.01 otherwise. "Yes" says that
    consistency is in the lower half of the scale, as G-Eval's question is whether there is an inconsistency;
    of other aspects it says that they are in the upper half.
    """
    low, high = task.scale or (0, 1)
    name = task.aspect or "rating"
    if task.form == "stars":
        return f"{min(max(round(2 * rating) / 2, low), high):g} stars"
    if task.form == "number":
        return f"{rating:.0f}" if high - low >= 100 else f"{rating:.2f}"
    if task.form == "yes_no":
        lower = rating < (low + high) / 2
        return "Yes" if lower == (task.aspect == "consistency") else "No"
    if task.form == "json":
        return json.dumps({name: round(rating, 2)}, ensure_ascii=False)
    if task.form == "text":
        return f"By its surface alone, the text's {name} is {rating:.2f} from {low:g} to {high:g}."
    return f"- {name[:1].upper()}{name[1:]}: {rating:.2f}"


def score(task):
    """Weighted mean of the features of a `Task`, in [0, 1]; 0 for a text without words."""
    hypothesis, source, context, reference = (
        task.fields.get(name) or "" for name in ("hypothesis", "source", "context", "reference"))
    if not words(hypothesis):
        return 0.0
    given = f"{source}\n{context}"
    # Items carry a reference even for prompts that do not show it: looking would be cheating.
    usable = {name: f for name, f in _FEATURES.items() if (name != "grounding" or context)
              and (name != "agreement" or reference and reference in task.text)}
    weights = WEIGHTS.get(task.aspect.lower().replace("_", " "), dict.fromkeys(usable, 1))
    weights = {name: weight for name, weight in weights.items() if name in usable}
    return sum(weight * usable[name](hypothesis, given, context, reference)
               for name, weight in weights.items()) / sum(weights.values())


def overlap(text, other):
    """Share of a text's content words that also occur in another text; 0 if it has none."""
    found = _content(text)
    known = _content_set(other)
    return sum(word in known for word in found) / len(found) if found else 0.0


def known_entities(hypothesis, source):
    """1 / (1 + k), k the capitalised words within sentences and numbers that the source lacks."""
    known = _vocabulary(source)
    return 1 / (1 + sum(entity not in known for entity in _entities(hypothesis)))


def variety(hypothesis):
    """1 minus the share of word trigrams, or of sentences if that is larger, that came before."""
    found = words(hypothesis)
    parts = list(zip(found, found[1:], found[2:])), [words(s) for s in sentences(hypothesis)]
    return min((len(set(part)) / len(part) for part in parts if part), default=1.0)


def length(hypothesis, source):
    """n / t or t / n, whichever is below 1, for n words where t = 3 sqrt(words of the source) suit."""
    n, target = len(words(hypothesis)), _TARGET * math.sqrt(len(words(source)))
    return min(n, target) / max(n, target, 1.0)


def spelling(hypothesis, source):
    """Share of words that look well-formed, 1 without words; there is no dictionary behind it.

    Malformed are letter runs, digits between letters, five consonants in a row, and a word of four
    letters or more that is not in the source, with over 2/3 of its character trigrams unseen there.
    """
    found, known, seen = words(hypothesis), _vocabulary(source), _trigrams(source)[0]
    odd = sum(1 for w in found if w not in known and (_MALFORMED.search(w) or _unlikely(w, seen)))
    return 1 - odd / len(found) if found else 1.0


def cohesion(hypothesis):
    """Share of neighbouring sentences that share a content word or are joined by a pronoun.

    The pronoun is one of the second sentence's first five words. 1 for a single sentence.
    """
    parts = sentences(hypothesis)
    links = [not _PRONOUNS.isdisjoint(words(b)[:5]) or not _content_set(a).isdisjoint(_content_set(b))
             for a, b in zip(parts, parts[1:])]
    return sum(links) / len(links) if links else 1.0


def familiarity(hypothesis, source):
    """1 minus the mean surprisal of the hypothesis's character trigrams over that of an unseen one.

    The model counts the source's trigrams and adds one, to an unseen one as well.
    """
    logs, ceiling = _trigrams(source)
    grams = _grams(hypothesis)
    return sum(logs.get(g, 0.0) for g in grams) / (len(grams) * ceiling) if grams else 0.0
