"""Ratings as people and models write them: each is read as its number or as none, never as another.

The lists say how ratings are written, not how they are parsed. `None` is right where a careful reader sees no
single rating on the scale.
"""

import math
import random

from nlgjudge.judging.reading import Reading


def forms(text):
    """What stands between two bars; the arrow is a line break."""
    return [form.replace("⏎", "\n") for form in text.replace("\n", "").split("¦")]


SEED = 52
CASES = 12000
RATINGS = {
    (1, 5): "1 2 3 4 5 3.5 4.0 2,5 6 0 55 -4 .5",
    (1, 3): "1 2 3 1.5 2.0 4 7",
    (0, 1): "0 1 0.75 .25 1.0 2 85",
    (1, 10): "1 7 8 10 7.5 8,5 11 0",
    (0, 100): "0 5 42 85 100 77.5 101 -3",
    (-2, 2): "-2 -1 0 1 2 +1 -1.5 -.5 3 -3",
}
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
SCRIPTS = ["０１２３４５６７８９", "٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९", "০১২৩৪৫৬৭৮৯"]
MARKS = forms(
    """\
{}¦**{}**¦`{}`¦__{}__¦*{}*¦"{}"¦[{}]¦[[{}]]¦({})¦“{}”¦$\\boxed{{{}}}$"""
)
LABELS = forms(
    """\
Rating: ¦Score: ¦**Rating:** ¦### Rating⏎¦Rating = ¦rating:¦Rating：¦- Score: ¦> Score: ¦Final score: ¦
My rating is ¦The score is: ¦The rating is therefore ¦Overall rating: ¦1. Rating: ¦Fluency: ¦Fluency score: ¦
Fluency (1-3): ¦Fluency rating is ¦Rating for fluency: ¦Rating:⏎⏎¦I would rate this ¦I'd give the text ¦
I rate it ¦I give this summary a ¦I would assign a score of ¦Answer: ¦Evaluation: ¦<score>¦<rating>¦Score - ¦
Result: ¦¦¦¦¦¦"""
)
OTHERS = forms(
    """\
Confidence score: ¦Confidence: ¦BLEU score: ¦ROUGE: ¦Maximum score: ¦Max rating: ¦Rating scale: ¦
Number of errors: ¦Errors: ¦Threshold: ¦Previous rating: ¦Human rating: ¦Average score: ¦Length: ¦If rating: ¦
If the rating is ¦When the score is ¦The highest rating is ¦A perfect score is ¦Not a ¦Rating: not ¦
Rating: at least ¦Rating: under ¦Rating: <¦Rating: ≥¦The reference score is ¦v"""
)
# Behind a number: what leaves it alone, and what does not. {w} is another rating, {t} the top, {o} another top.
UNITS = forms(
    """\
¦¦¦.¦!¦ stars¦ points¦/{t}¦ / {t}¦ out of {t}¦/{t}.¦ of {t}¦ (good)¦ - good¦ (out of {t})¦/{t} points¦
 out of {t} stars¦: good¦, because it is short¦ — it is good¦; good"""
)
UNCLEAR = forms(
    """\
-{w}¦ - {w}¦–{w}¦~{w}¦ to {w}¦ or {w}¦ through {w}¦/{t} or {w}/{t}¦ (or {w})¦, {w}¦, maybe {w}¦ (maybe {w})¦
 or even {w}¦-{w}/{t}¦–{w}%¦.5-{w}¦ and {w}¦ vs. {w}¦…{w}¦|{w}¦½¦ ½¦ 1/2¦ and a half¦ hundred¦ thousand¦th¦e1¦²¦
^2¦+¦?¦ {w}¦:{w}¦,000¦ or higher¦ or so¦/{o}¦ out of {o}¦ / {o}¦ on a scale of {o} to 1{o}¦ (scale 1-{o})¦
 of the facts"""
)
# A calculation or a correction: the last number is the rating.
CHANGED = forms(
    """\
 -> {w}¦ → {w}¦ => {w}¦ (fair) -> {w}¦. Actually, {w}.¦. No, {w}.¦. Wait, {w}¦ - 9 = {w}¦
. On second thought, {w}.¦, no, {w}¦ + 9 = {w}¦ * 2 = {w}¦ x 2 = {w}¦, rounded up to {w}"""
)
BEFORE = forms(
    """\
¦¦¦It has slips.⏎¦In 2019 Hull won 222-0.⏎⏎¦It covers 2 of 7 facts. ¦Step 1: I read it.⏎¦
1. It is short.⏎2. It is clear.⏎⏎¦Reasoning: 30% of it is wrong.⏎¦<think>Rating: 9? Or 3?</think>⏎"""
)
AFTER = forms(
    """\
¦¦¦⏎⏎It is well done.¦⏎The 3 facts are right.¦⏎⏎Explanation: it has 2 slips.¦⏎In 2019 it won 4-1.¦
⏎⏎1. It is clear.⏎2. It is short.¦⏎Confidence: 5¦⏎- It omits 1 of 3 names."""
)
PLAIN = forms(
    """\
{}¦{}.¦ {}⏎¦**{}**¦# {}¦`{}`¦"{}"¦[[{}]]¦({})¦[{}]¦{}!¦- {}¦> {}¦= {}¦{}/{t}¦{} / {t}¦{} out of {t}¦{} of {t}¦
{}/{t}.¦**{}/{t}**¦**{}**/{t}¦{} (out of {t})¦Rating: {}¦Score: {}¦Score: {}/{t}¦**Score:** {}¦**Rating: {}**¦
- Rating: {}¦* Score: {}¦Final score: {}¦Final Rating: **{}**¦Overall: {}¦Overall score: {}/{t}¦
My rating is {}.¦Grade: {}¦The score is {}.¦The rating is: {}¦The fluency score is {}/{t}.¦Fluency: {}¦
Fluency score: {}¦Fluency rating: {} out of {t}¦Rating for fluency: {}¦Score ({b}-{t}): {}¦
Rating (scale of {b} to {t}): {}¦I would rate this {} out of {t}.¦I would rate this text a {}.¦
I'd give it a {}.¦I give this a score of {}.¦I rate the fluency of the text as {}.¦{} - good¦{} (good)¦
{}. The text is fluent.¦{}: good¦{}, good¦## Score⏎⏎{}¦### Rating: {}¦Score:⏎{}¦Score:⏎⏎**{}**¦Rating⏎{}¦
{}⏎⏎It is well done.¦{}⏎The text is fluent.¦Rating: {}⏎⏎The text is fluent.¦The text is fluent.⏎⏎Rating: {}¦
Answer: {}¦The text is fluent.⏎⏎{}¦\\boxed{{{}}}¦$\\boxed{{{}}}$¦The answer is $\\boxed{{{}}}$.¦<score>{}</score>¦
<reason>It is short.</reason>⏎<rating>{}</rating>¦<answer>{}</answer>¦Evaluation: {}¦Verdict: {}¦Rating: [{}]¦
Rating: [[{}]]¦Rating: '{}'¦Score = {}¦Rating: {} (good)¦Rating: {} - good¦{} stars¦{} points¦Rating: {} stars¦
Score: {} points¦{} out of {t} stars¦Good ({})¦Rating: {}. It has 3 slips in 20 lines.¦
It has 3 slips in 20 lines.⏎Rating: {}¦<think>Or 9?</think>{}¦On a scale of {b} to {t}, I would rate this {}.¦
{} on a scale of {b} to {t}¦{} (on a scale of {b}-{t})"""
)


def written(rng, rating):
    """A number in one of its spellings."""
    whole = rating.isdigit() and int(rating) <= 10
    ways = [rating, rating, rating, rating.replace("-", "−"), rating.replace("-", "- ")]
    ways += [WORDS[int(rating)], WORDS[int(rating)].title()] if whole else []
    script = rng.choice(SCRIPTS)
    ways.append("".join(script[int(sign)] if sign.isdigit() else sign for sign in rating))
    return rng.choice(ways)


def value(rating, scale):
    """What a rating means; None off the scale. A share of 1 on a scale to 100 may be meant as percent."""
    number = float(rating.replace(",", "."))
    is_share = scale[1] >= 100 and 0 < number < 1
    return number if scale[0] <= number <= scale[1] and not is_share else None


def generated(rng):
    """A reply, its scale, and the values that may be read from it."""
    scale = rng.choice([*RATINGS])
    rating, another = rng.sample(RATINGS[scale].split(), 2)
    top, other = scale[1], rng.choice([7, 20, 50])
    names = {"w": another, "t": top, "o": other}
    kind = rng.choice(["right", "right", "right", "other", "unclear", "changed", "both"])
    number = written(rng, rating)
    label = rng.choice(LABELS)
    right = {value(rating, scale)}
    if kind == "unclear":
        text = label + number + rng.choice(UNCLEAR).format(**names)
        right = {None}
    elif kind == "changed":
        text = label + number + rng.choice(CHANGED).format(**names)
        right = {value(another, scale), None}
    elif kind == "other":
        text = rng.choice(OTHERS) + number + rng.choice(["", ".", f"/{top}", " then it is good"])
        right = {None}
    elif kind == "both":
        text = f"{rng.choice(OTHERS[:15])}{another}\n{label or 'Rating: '}{number}"
    else:
        number = rng.choice(MARKS).format(number)
        text = label + number + rng.choice(UNITS).format(**names)
    if label.startswith("<") and kind != "other":
        text += label.replace("<", "</")
    return rng.choice(BEFORE) + text + rng.choice(AFTER), scale, right | {None}


def test_a_written_rating_is_read_as_itself_or_not_at_all():
    rng = random.Random(SEED)
    replies = {}
    while len(replies) < CASES:
        text, scale, right = generated(rng)
        replies.setdefault((text, scale), right)
    wrong = []
    for (text, scale), right in replies.items():
        found = Reading("form", scale, aspect="fluency").read(text).score
        if not math.isnan(found) and found not in right:
            wrong.append((text, scale, found, right))
    assert wrong == []


def test_plain_forms_are_read():
    numbered = "{}. The text is fluent."  # with 1 it may number a list
    tried = [
        (form.format(rating, b=low, t=high), (low, high), value(rating, (low, high)))
        for (low, high), ratings in RATINGS.items()
        for form in PLAIN
        for rating in ratings.split()
        if value(rating, (low, high)) is not None and (form, rating) != (numbered, "1")
    ]
    assert len(tried) > 3000
    found = [Reading("form", scale, aspect="fluency").read(text).score for text, scale, _ in tried]
    pairs = [(*one, score) for one, score in zip(tried, found) if score != one[2]]
    assert [pair for pair in pairs if not math.isnan(pair[3])] == []
    assert len(pairs) <= 0.01 * len(tried), pairs
