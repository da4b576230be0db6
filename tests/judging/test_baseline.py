"""The rule-based baseline: features by hand arithmetic, what a change of text must do to a rating, forms."""

import math

import pytest

import nlgjudge as nj
from nlgjudge.judging.baseline import Baseline, answer, score
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.tasks import Task

SOURCE = (
    "The council of Harlow voted to close the bridge. The bridge was built in 1911 and needs "
    "repairs. Drivers will use Quarry Road for 14 months. Shops there fear for their customers."
)
GOOD = (
    "The council voted to close the bridge in Harlow. The bridge needs repairs, and drivers will use "
    "Quarry Road for 14 months. They fear for their customers."
)


def task(hypothesis, aspect="fluency", *, text="", reading=None, n=1, **fields):
    fields = {"source": SOURCE, "hypothesis": hypothesis} | fields
    return Task("d1/s1", aspect, text, fields, reading or Reading(), n)


# Features of a hypothesis and a source.
BY_HAND = [
    # council, bridge, not closed
    ("overlap", ("The council closed the bridge in 1912.", SOURCE), 2 / 4),
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
    # yes, no, yes
    ("cohesion", ("The bridge is old. It rusts. Shops fear. The shops are old.",), 2 / 3),
    ("familiarity", ("xy", "ab ab"), 0),
    # "ab ab" has five trigrams, three of them different, " ab" and "ab " twice each
    ("familiarity", ("ab", "ab ab"), math.log2(3) / math.log2(5 + 3 + 1)),
]


@pytest.mark.parametrize("feature, texts, expected", BY_HAND)
def test_features_by_hand(feature, texts, expected):
    hypothesis, source = (*texts, "")[:2]
    assert Baseline().features(hypothesis, source)[feature] == pytest.approx(expected)
    for pair in (("", ""), ("Words.", ""), ("", SOURCE)):
        assert 0 <= Baseline().features(*pair)[feature] <= 1


def test_reference_counts_only_where_the_prompt_shows_it():
    reference = "The bridge closes."
    hidden = task("The bridge.", "equivalence", reference=reference, text="Rate.")
    shown = hidden._replace(text=f"Rate. Reference: {reference}")
    # agreement (1 + 1/2) / 2, entities 1, overlap 1, with weights 3, 1, 1
    assert score(hidden) == 1 and score(shown) == pytest.approx((3 * 0.75 + 1 + 1) / 5)


@pytest.mark.parametrize(
    "aspect, worse",
    [
        ("consistency", GOOD.replace("14", "15")),
        ("fluency", GOOD.replace("council", "cuoncill").replace("months", "mnoths")),
        ("coherence", GOOD + " Pears ripen."),
        ("relevance", "The council voted."),
    ],
)
def test_a_worse_text_is_rated_lower(aspect, worse):
    assert score(task(worse, aspect)) < score(task(GOOD, aspect))


@pytest.mark.parametrize(
    "form, scale, step",
    [
        ("form", (1, 5), 0.01),
        ("stars", (1, 5), 0.5),
        ("number", (0, 100), 1),
        ("json", (1, 5), 0.01),
    ],
)
@pytest.mark.parametrize("aspect", ["coherence", "answer quality", "pyramid_recall", ""])
def test_replies_are_read_back(form, scale, step, aspect):
    reading = Reading(form, scale, aspect=aspect)
    for share in (0, 0.1234, 1 / 3, 0.5, 0.875, 0.999, 1):
        expected = scale[0] + share * (scale[1] - scale[0])
        found = reading.read(answer(expected, task("", aspect, reading=reading)))
        assert found.reason == "" and abs(found.score - expected) <= step / 2 + 1e-9


def test_yes_and_no_and_letters():
    choice = Reading("choice", (1, 5), options={"good": 5, "fair": 3, "bad": 1})
    assert answer(3.4249, task("", reading=choice)) == "B"
    # "Does the summary contain factual inconsistency?" Yes where consistency is low
    yes_no = {"reading": Reading("yes_no", ())}
    assert [answer(r, task("", "consistency", **yes_no)) for r in (0.2, 0.8)] == ["Yes", "No"]
    assert [answer(r, task("", "equivalence", **yes_no)) for r in (0.2, 0.8)] == ["No", "Yes"]


def test_empty_texts_get_the_lowest_rating_and_samples_are_equal():
    empty = Baseline().replies(map(task, ("", "  \n", "...", None)))
    assert {reply.text for reply in empty} == {"- Fluency: 1"}
    replies = list(Baseline().replies([task(GOOD, n=3)]))
    assert [r.sample_index for r in replies] == [0, 1, 2] and len({r.text for r in replies}) == 1


@pytest.mark.parametrize(
    "hypothesis, other, chosen",
    [(GOOD, "Pears.", "A"), ("Pears.", GOOD, "B"), (GOOD, GOOD, "A")],
)
def test_of_a_pair_the_higher_rated_text_is_chosen(hypothesis, other, chosen):
    asked = nj.judging.as_prompt("A: {{hypothesis}} B: {{other}}", aspect="relevance")
    pair = task(hypothesis, "relevance", reading=asked.reading, other=other)
    turned = pair._replace(reading=asked._replace(options={"A": 0, "B": 1}).reading)
    texts = [reply.text for reply in Baseline().replies([pair, turned])]
    assert texts == [chosen, "BA"["AB".index(chosen)]]


def test_consistency_follows_the_planted_defects_and_fluency_does_not():
    """Names and numbers give invention away; bad grammar leaves no trace that a rule here would see."""
    summaries = nj.load("summeval", "sample")
    prompts = [f"geval/summarization/{aspect}" for aspect in ("consistency", "fluency")]
    judged = nj.item_scores({"x": nj.judge_items(summaries.items, prompts, "surface")})
    scores = summaries.with_scores(judged)
    for level in ("sample", "dataset"):
        assert nj.correlation(scores, "x:consistency", "consistency", level=level).value > 0.4
        assert abs(nj.correlation(scores, "x:fluency", "fluency", level=level).value) < 0.2
