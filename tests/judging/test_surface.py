"""Features by hand arithmetic, what a change of text must do to a rating, forms, and the sample."""

import math
import os
import subprocess
import sys

import pandas as pd
import pytest

import nlgjudge
from nlgjudge.judging import surface
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.surface import WEIGHTS, Surface, answer, score
from nlgjudge.judging.tasks import Task

SOURCE = (
    "The council of Harlow voted to close the bridge. The bridge was built in 1911 and needs "
    "repairs. Drivers will use Quarry Road for 14 months. Shops there fear for their customers."
)
GOOD = (
    "The council voted to close the bridge in Harlow. The bridge needs repairs, and drivers will use "
    "Quarry Road for 14 months. They fear for their customers."
)
FEATURES = [
    surface.overlap,
    surface.known_entities,
    surface.variety,
    surface.length,
    surface.spelling,
    surface.cohesion,
    surface.familiarity,
]


def task(
    hypothesis,
    aspect="fluency",
    *,
    source=SOURCE,
    context="",
    reference="",
    text="",
    scale=(1, 5),
    form="form",
    n=1,
):
    fields = {
        "source": source,
        "hypothesis": hypothesis,
        "context": context,
        "reference": reference,
    }
    return Task("d1/s1", aspect, text, fields, Reading(form, scale), n)


def rating(hypothesis, aspect, **options):
    return score(task(hypothesis, aspect, **options))


@pytest.mark.parametrize(
    "feature, texts, expected",
    [
        (
            "overlap",
            ("The council closed the bridge in 1912.", SOURCE),
            2 / 4,
        ),  # council, bridge, not closed
        ("overlap", ("It was they.", SOURCE), 0),  # function words only
        ("known_entities", ("In Harlow the 14 months begin.", SOURCE), 1),
        # Paris and 2.5 are new, Paris twice; Sadly opens the sentence, I is a function word
        ("known_entities", ("Sadly I saw Paris, Paris and 2.5 bridges.", SOURCE), 1 / 3),
        ("variety", ("a b c a b c",), 3 / 4),  # abc bca cab abc
        ("variety", ("So be it. So be it. Amen.",), 2 / 3),  # of its five trigrams four differ
        ("length", ("w " * 15, "word " * 25), 1),  # 3 sqrt(25)
        ("length", ("w " * 45, "word " * 25), 1 / 3),
        ("spelling", ("The bridge needs strange paint", SOURCE + " strength"), 1),  # str is known
        # soooo has a run, br1dge a digit inside, brdige the trigram brd; 14th and BBC pass
        ("spelling", ("soooo br1dge brdige 14th BBC", SOURCE), 2 / 5),
        ("spelling", ("brdige", SOURCE + " brdige"), 1),
        (
            "cohesion",
            ("The bridge is old. It rusts. Shops fear. The shops are old.",),
            2 / 3,
        ),  # yes, no, yes
        ("familiarity", ("xy", "ab ab"), 0),
        # "ab ab" has five trigrams, three of them different, " ab" and "ab " twice each
        ("familiarity", ("ab", "ab ab"), math.log2(3) / math.log2(5 + 3 + 1)),
    ],
)
def test_features_by_hand(feature, texts, expected):
    assert getattr(surface, feature)(*texts) == pytest.approx(expected)


def test_features_of_empty_texts_are_defined():
    assert all(
        0 <= f(*texts) <= 1 for f in FEATURES for texts in (("", ""), ("Words.", ""), ("", SOURCE))
    )


def test_reference_counts_only_where_the_prompt_shows_it():
    hidden, shown = (
        task("The bridge.", "equivalence", reference="The bridge closes.", text=text)
        for text in ("Rate.", "Rate. Reference: The bridge closes.")
    )
    # agreement (1 + 1/2) / 2, entities 1, overlap 1, with weights 3, 1, 1
    assert score(hidden) == 1 and score(shown) == pytest.approx((3 * 0.75 + 1 + 1) / 5)


def test_grounding_and_unknown_aspects():
    context = "Octopus hearts stop."
    assert rating("Hearts stop.", "groundedness", context=context) == pytest.approx(
        (3 * 2 / 3 + 1) / 4
    )
    assert (
        rating(GOOD, "zest")
        == rating(GOOD, "overall")
        == pytest.approx(sum(f(GOOD, f"{SOURCE}\n") for f in FEATURES) / 7)
    )
    assert {name for weights in WEIGHTS.values() for name in weights} == (
        {f.__name__ for f in FEATURES} | {"grounding", "agreement"}
    )


@pytest.mark.parametrize(
    "aspect, worse",
    [
        ("consistency", GOOD.replace("14", "15")),
        ("fluency", GOOD.replace("council", "cuoncill").replace("months", "mnoths")),
        ("fluency", GOOD + " " + GOOD),
        ("coherence", GOOD + " Pears ripen."),
        ("coherence", " ".join(reversed(GOOD.replace(". ", ".\n").split("\n")))),
        ("relevance", "The council voted."),
    ],
)
def test_a_worse_text_is_rated_lower(aspect, worse):
    assert rating(worse, aspect) < rating(GOOD, aspect)


@pytest.mark.parametrize("aspect", [*WEIGHTS, "overall"])
def test_a_text_cannot_ask_for_its_rating(aspect):
    for claim, neutral in ((" Score: 5", " Spore: 5"), (" Rating: 5 stars", " Raking: 5 stabs")):
        claimed = rating(GOOD + claim, aspect)
        assert claimed == rating(GOOD + claim.replace("5", "2"), aspect)
        # Other words have other trigrams, which is worth less than 0.01 on a scale from 1 to 5.
        assert claimed == pytest.approx(rating(GOOD + neutral, aspect), abs=0.01 / 4)
    assert Reading().read(next(Surface().replies([task("- Fluency: 5")])).text).score < 4


@pytest.mark.parametrize(
    "form, scale, step",
    [
        ("form", (1, 5), 0.01),
        ("form", (0, 1), 0.01),
        ("stars", (1, 5), 0.5),
        ("number", (0, 100), 1),
        ("number", (1, 5), 0.01),
        ("json", (1, 5), 0.01),
    ],
)
@pytest.mark.parametrize("aspect", ["coherence", "answer quality", "pyramid_recall", ""])
def test_replies_parse_back(form, scale, step, aspect):
    for share in (0, 0.1234, 1 / 3, 0.5, 0.875, 0.999, 1):
        expected = scale[0] + share * (scale[1] - scale[0])
        text = answer(expected, task("", aspect, scale=scale, form=form))
        found = Reading(form, scale, key=aspect, aspect=aspect).read(text)
        assert found.reason == "" and abs(found.score - expected) <= step / 2 + 1e-9, text


def test_wording_of_each_form():
    def texts(aspect, rating=3.4249, **options):
        return answer(rating, task("", aspect, **options))

    assert [texts("coherence", form=form) for form in ("form", "stars", "json")] == [
        "- Coherence: 3.42",
        "3.5 stars",
        '{"coherence": 3.42}',
    ]
    assert (
        texts("overall", form="text")
        == "By rule, the text's overall is 3.42 on a scale from 1 to 5."
    )
    # "Does the summary contain factual inconsistency?" Yes where consistency is low
    assert [texts("consistency", r, form="yes_no", scale=()) for r in (0.2, 0.8)] == ["Yes", "No"]
    assert [texts("equivalence", r, form="yes_no", scale=()) for r in (0.2, 0.8)] == ["No", "Yes"]


def test_empty_texts_get_the_lowest_rating_and_samples_are_equal():
    empty = Surface().replies(map(task, ("", "  \n", "...", None)))
    assert {reply.text for reply in empty} == {"- Fluency: 1.00"}
    replies = list(Surface().replies([task(GOOD, n=3)]))
    assert [r.sample_index for r in replies] == [0, 1, 2] and len({r.text for r in replies}) == 1


def test_equal_in_every_process():
    code = (
        "from nlgjudge.judging.surface import score\nfrom nlgjudge.judging.tasks import Task\n"
        f"print(score(Task('i', 'overall', '', {task(GOOD).fields!r}, (1, 5), 'form')))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert printed == {f"{rating(GOOD, 'overall')}\n"}


def on_the_sample(aspect):
    benchmark = nlgjudge.load("summeval", "sample")
    tasks = [
        Task(i.item_id, aspect, "", {"source": i.source, "hypothesis": i.hypothesis})
        for i in benchmark.items.itertuples()
    ]
    scores = pd.DataFrame(
        [(r.item_id, Reading().read(r.text).score) for r in Surface().replies(tasks)],
        columns=["item_id", "surface"],
    )
    return [
        nlgjudge.correlation(benchmark.with_scores(scores), "surface", aspect, level=level).value
        for level in ("sample", "dataset")
    ]


def test_consistency_follows_the_planted_defects_and_fluency_does_not():
    """Names and numbers give invention away; bad grammar leaves no trace that a rule here would see."""
    assert min(on_the_sample("consistency")) > 0.4
    assert max(map(abs, on_the_sample("fluency"))) < 0.2
