"""Replies and the ratings that they give: each form, each reason, reasoning blocks, patterns and policies."""

import csv
import json
import math
from pathlib import Path

import pytest

from nlgjudge.data.fetch import DataUnavailable, read
from nlgjudge.data.recordings import RECORDINGS
from nlgjudge.data.registry import entries
from nlgjudge.judging.reading import Reading

FIVE = (1, 5)
HUNDRED = (0, 100)


@pytest.mark.parametrize(
    "text, form, scale, rating",
    [
        ("2,5", "form", FIVE, 2.5),
        ("Three.", "form", FIVE, 3),
        ("-1", "form", (-2, 2), -1),
        ("Rating: -1", "form", (-2, 2), -1),
        ("- **Engagingness:** 3", "form", (1, 3), 3),
        ("> Fluency: two", "form", FIVE, 2),
        ("<reason>2 slips</reason>\n<score>4</score>", "form", FIVE, 4),
        ("It has 2 slips and 3 facts.\nRating: 5", "form", FIVE, 5),
        ("Rating: 2\nRationale: it drifts off after the 2nd of 3 sentences.", "form", FIVE, 2),
        ("Rating: 4\n...\nFinal rating: 4", "form", FIVE, 4),
        ("3.5 stars", "stars", FIVE, 3.5),
        ("Stars: 2\n\nIt invents a storm.", "stars", FIVE, 2),
        ("70%", "number", HUNDRED, 70),
        ("Scores: 70/100. Most facts are right, 2 are not.", "number", HUNDRED, 70),
        ("Yes", "yes_no", (), 1),
        ("**No**, all is supported.", "yes_no", (), 0),
        ("The year is wrong. The answer is yes.", "yes_no", (), 1),
        ('Here:\n```json\n{"score": 4.5, "why": "1 slip"}\n```', "json", FIVE, 4.5),
        ('{"why": "one\nline break", "score": "3/5"}', "json", FIVE, 3),
        ('{"score": 3, "errors": ["a",],}', "json", FIVE, 3),
        # a first line that is only a number, as G-Eval's own script reads it
        ("2\n\nIt is well done.", "form", (1, 3), 2),
        ("4\n\n1. All facts are right.\n2. None is missing.", "form", FIVE, 4),
        # and other places for a number that none competes with
        ("2 - good", "form", (1, 3), 2),
        ("On a scale of 1 to 5, I'd give the summary a 4.", "form", FIVE, 4),
        ("The score is therefore $\\boxed{4}$.", "form", FIVE, 4),
        ("Rating: ⭐⭐⭐", "stars", FIVE, 3),
        ("Good (3)", "form", (1, 3), 3),
        # a number keeps its sign, its decimals and what is said twice
        ("Rating: - 1", "form", (-2, 2), -1),
        ("-two", "form", (-2, 2), -2),
        ("Score: minus 1.5", "form", (-2, 2), -1.5),
        ("Score: .75", "form", (0, 1), 0.75),
        ("Rating: four (4/5)", "form", FIVE, 4),
        ("评分: ４／５", "form", FIVE, 4),
        ("Score: ٤٫٥", "form", FIVE, 4.5),
        # other numbers have labels too
        ("Confidence score: 5\nRating: 2", "form", FIVE, 2),
        ("BLEU score: 3, previous rating: 4. Final rating: 2", "form", FIVE, 2),
        # a value inside another never beats one outside
        ('{"criteria": [{"score": 2}, {"score": 3}], "overall": 4}', "json", FIVE, 4),
        ('{"result": {"score": 4}}', "json", FIVE, 4),
        ("No contradictions. Answer: Yes", "yes_no", (), 1),
        ("Answer (Yes or No): Yes", "yes_no", (), 1),
        ("No it is not.", "yes_no", (), 0),
    ],
)
def test_a_rating_is_read(text, form, scale, rating):
    assert Reading(form, scale).read(text) == (rating, "")


@pytest.mark.parametrize(
    "text, form, scale, reason",
    [
        (None, "form", FIVE, "empty"),
        ("  \n", "stars", FIVE, "empty"),
        ("<think>Rating: 4", "form", FIVE, "empty"),
        ("As an AI, I cannot judge this.", "form", FIVE, "refusal"),
        ("N/A", "form", FIVE, "refusal"),
        ("The summary covers 3 of 7 facts.", "form", FIVE, "no_rating"),
        ("5 stars for fluency, 2 for facts", "stars", FIVE, "ambiguous"),
        ("7", "form", FIVE, "out_of_range"),
        ("Rating: -1", "form", FIVE, "out_of_range"),
        ("105", "number", HUNDRED, "out_of_range"),
        ("Rating: 2\nRating: 4", "form", FIVE, "ambiguous"),
        ("70-80", "number", HUNDRED, "ambiguous"),
        ("Score: 7/10", "form", FIVE, "other_scale"),
        ("Score (1-10): 4", "form", FIVE, "other_scale"),
        ("0.85", "number", HUNDRED, "other_scale"),
        ("Perhaps.", "yes_no", (), "no_rating"),
        ("No idea.", "yes_no", (), "no_rating"),
        ("Yes and no.", "yes_no", (), "ambiguous"),
        ("Answer: yes. Final answer: no", "yes_no", (), "ambiguous"),
        ("Rating: 4", "json", FIVE, "not_json"),
        ('{"score": 3', "json", FIVE, "not_json"),
        ('{"score": null, "n_errors": 3}', "json", FIVE, "no_rating"),
        ('{"score": "N/A", "max_score": 5}', "json", FIVE, "no_rating"),
        ('{"n_errors": 3}', "json", FIVE, "no_rating"),
        ('{"score": true}', "json", FIVE, "no_rating"),
        ('{"score": 3, "score": 4}', "json", FIVE, "ambiguous"),
        ('{"score": 9}', "json", FIVE, "out_of_range"),
        ('{"score": 3, "rating": 4}', "json", FIVE, "ambiguous"),
        ('{"criteria": [{"score": 2}, {"score": 3}]}', "json", FIVE, "ambiguous"),
        ("2\n\nOn reflection, 3.", "form", (1, 3), "ambiguous"),
        ("1. It is good.", "form", FIVE, "no_rating"),  # may number a list
        ("-**2**", "form", (-2, 2), "ambiguous"),  # a bullet, or a sign
        ("Rating: .5", "form", FIVE, "out_of_range"),
        ("Score: .85", "number", HUNDRED, "other_scale"),
        ("Rating: 3½", "form", FIVE, "ambiguous"),
        ("Score: 85-90%", "number", HUNDRED, "ambiguous"),
        ("Score: one hundred", "number", HUNDRED, "ambiguous"),
        ("Rating: 2 + 2 = 4", "form", FIVE, "ambiguous"),
        ("Rating: 5 means perfect.", "form", FIVE, "ambiguous"),
        ("Rating: 4 on a scale of 1 to 10", "form", FIVE, "other_scale"),
        ("★★★★☆☆☆☆☆☆", "stars", FIVE, "other_scale"),
        ("Confidence score: 5", "form", FIVE, "no_rating"),
        ("If Rating: 5 then perfect", "form", FIVE, "no_rating"),
    ],
)
def test_a_reply_without_a_rating_says_why(text, form, scale, reason):
    found = Reading(form, scale).read(text)
    assert (math.isnan(found.score), found.reason) == (True, reason)


REASONING = [
    "<think>Rating: 2? Yes or no? {B}</think>\n",
    "<thinking>\nRating: 2\n</thinking>",
    "Rating: 2 seems low.</think>\n\n",  # the prompt ended in the opening tag
    "[THINK]Rating: 2[/THINK]",
    "◁think▷Rating: 2◁/think▷",
    "<seed:think>Rating: 2</seed:think>",
    "<|begin_of_thought|>Rating: 2<|end_of_thought|>",
    "<|START_THINKING|>Rating: 2<|END_THINKING|>",
    "<|channel>thought\nRating: 2<channel|>",
    "<|channel|>analysis<|message|>Rating: 2 seems low.<|end|><|start|>assistant<|channel|>final<|message|>",
    "analysisRating: 2 seems low.assistantfinal",  # the same channels without special tokens
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
]


@pytest.mark.parametrize("before", REASONING)
@pytest.mark.parametrize(
    "answer, form, rating",
    [
        ("Rating: 4", "form", 4),
        ("4 stars", "stars", 4),
        ("4", "number", 4),
        ("Yes", "yes_no", 1),
        ('{"score": 4}', "json", 4),
        ("B", "choice", 4),
    ],
)
def test_reasoning_is_removed_before_every_form(before, answer, form, rating):
    options = {"good": 5, "fair": 4} if form == "choice" else None
    for text in (before + answer, f"{before}{answer}<|return|>", f"{before}\n{answer}</s>"):
        assert Reading(form, FIVE, options=options).read(text) == (rating, "")


def test_a_cut_channel_has_no_rating():
    assert Reading().read("<|channel|>analysis<|message|>Rating: 2 seems").reason == "empty"


@pytest.mark.parametrize(
    "text, aspect, rating, reason",
    [
        ("Coherence: 4\nFluency: 3", "fluency", 3, ""),
        ("Coherence: 4\nAnswer quality: 3", "answer_quality", 3, ""),
        ("Coherence: 4\nFluency: 3", "relevance", math.nan, "no_rating"),
        ("Coherence: 4\nRating: 2", "coherence", math.nan, "ambiguous"),
        ("Coherence rating: 4\nFluency rating: 3", "fluency", 3, ""),
        ("Rating for fluency: 3", "fluency", 3, ""),
        ("The response fluency score is 3.", "fluency", 3, ""),
        ("Disfluency: 3", "fluency", math.nan, "no_rating"),
        ("Toxicity: 3", "fluency", math.nan, "no_rating"),
        ("It is short.\nLack of fluency: 3", "fluency", math.nan, "no_rating"),
        ("Fluent: 3", "fluency", 3, ""),
        ("评分: 3", "fluency", 3, ""),
        ("Rating: 3. It actually omits 2 names.", "fluency", 3, ""),
    ],
)
def test_the_aspect_is_a_label(text, aspect, rating, reason):
    assert Reading(aspect=aspect).read(text) == (pytest.approx(rating, nan_ok=True), reason)


def test_json_is_read_by_the_name_of_the_rating():
    text = '{"Relevance": 5.0, "Fluency": 2, "score": 1}'
    assert Reading("json", aspect="fluency").read(text).score == 2
    assert Reading("json", key="relevance").read(text).score == 5
    assert Reading("json").read(text).score == 1
    assert Reading("json", key="depth").read(text).reason == "no_rating"
    nested = '{"fluency": {"score": 4}, "coherence": {"score": 2}}'
    assert Reading("json", aspect="fluency").read(nested).score == 4
    contradicting = '{"details": {"fluency": 2}, "score": 4}'
    assert Reading("json", aspect="fluency").read(contradicting).reason == "ambiguous"


@pytest.mark.parametrize(
    "text, pattern, rating, reason",
    [
        ("评分：4分", r"评分：(\d)分", 4, ""),
        ("I give it a 4.", r"give it an? (?P<rating>\d)", 4, ""),
        ("I give it a four.", r"give it an? (\w+)", 4, ""),
        ("I give it a try.", r"give it an? (\w+)", math.nan, "no_rating"),
        ("I give it a 3, no, I give it a 4.", r"give it an? (\d)", math.nan, "ambiguous"),
        ("Note: 6", r"note: (\d)", math.nan, "out_of_range"),
        ("Note: 4.5", r"note: (\d)", math.nan, "ambiguous"),  # a part of a number
        ("<think>I give it a 3</think>I give it a 4", r"give it an? (\d)", 4, ""),
        ("Rating: 5 errors. Verdict 2.", r"verdict (\d)", 2, ""),  # goes before the default
        ("Rating: 5", r"verdict (\d)", 5, ""),  # which reads what it does not
    ],
)
def test_a_pattern_of_ones_own(text, pattern, rating, reason):
    assert Reading(pattern=pattern).read(text) == (pytest.approx(rating, nan_ok=True), reason)


@pytest.mark.parametrize("number", [-12.5, -0.53, 0, 3e-10, 0.25, 1, 73, 1234.5, 4e20])
def test_a_number_without_a_scale_is_taken_as_it_is(number):
    reading = Reading(scale=(-math.inf, math.inf))
    assert reading.read(reading.write(number)) == (number, "")
    assert Reading(scale=(0, 100)).read("0.25").reason == "other_scale"


def test_a_scale_that_a_pattern_names():
    pattern = r"lautet (?P<rating>\d) von (?P<top>\d+)"
    assert Reading(pattern=pattern).read("Das Urteil lautet 4 von 5.") == (4, "")
    assert Reading(pattern=pattern).read("Das Urteil lautet 4 von 10.").reason == "other_scale"


OPTIONS = {"Good": 5, "Fair": 3, "Very poor": 1}


@pytest.mark.parametrize(
    "text, rating, reason",
    [
        ("B", 3, ""),
        ("(c) very poor", 1, ""),
        ("B. Fair", 3, ""),
        ("The answer is (B).", 3, ""),
        ("It drags on.\nFinal answer: option C", 1, ""),
        ("Very poor.", 1, ""),
        ("B. Good", math.nan, "ambiguous"),
        ("Answer: A\nAnswer: B", math.nan, "ambiguous"),
        ("A good summary", math.nan, "no_rating"),
        ("Good question!", math.nan, "no_rating"),
        ("D", math.nan, "no_rating"),
    ],
)
def test_choices(text, rating, reason):
    found = Reading("choice", FIVE, options=OPTIONS).read(text)
    assert found == (pytest.approx(rating, nan_ok=True), reason)


def test_a_list_of_options_spreads_over_the_scale():
    found = Reading("choice", HUNDRED, options=["poor", "fair", "good"]).read_all(["A", "B", "C"])
    assert found["score"].tolist() == [0, 50, 100]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"form": "table"}, "no form 'table'"),
        ({"form": "choice"}, "expected 2 to 26 different texts"),
        ({"form": "choice", "options": ["a", "A "]}, "expected 2 to 26 different texts"),
        ({"form": "choice", "options": {"a": 1, "b": math.nan}}, "a score that is no number"),
        ({"pattern": r"score \d"}, "expected a group around the rating"),
    ],
)
def test_what_cannot_be_read_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Reading(**arguments).read("4")
    with pytest.raises(ValueError, match="no policy 'zero'"):
        Reading().read_all(["4"], "zero")


REPLIES = ["4", "105", " 3 stars", "Score: 2", "..", "Rating: none", "Rating (1-3):\n2.5"]


@pytest.mark.parametrize(
    "policy, scores",
    [
        ("nan", [4, math.nan, 3, 2, math.nan, math.nan, math.nan]),
        ("store_3", [4, 3, 3, 2, 3, 3, 3]),
        ("drop", [4, 3, 2]),
        # `re.match(" ?([\d.]+)")`, else 0; no range is checked
        ("leading_or_0", [4, 105, 3, 0, 0, 0, 0]),
        # the first digit behind the last "rating:", "1-3" taken out before; without a label, of the whole
        ("first_digit", [4, 1, 3, 2, math.nan, math.nan, 2]),
        ("first_digit_or_0", [4, 1, 3, 2, 0, 0, 2]),
    ],
)
def test_policies_of_upstream(policy, scores):
    found = Reading().read_all(REPLIES, policy)
    assert found["score"].tolist() == pytest.approx(scores, nan_ok=True)


def test_the_labels_by_hand():
    """526 recorded replies, read by a person: none is misread, and at most 3 are not read."""
    wrong = []
    unread = []
    rows = {}
    with open(Path(__file__).with_name("labels.csv"), newline="", encoding="utf-8") as handle:
        labels = list(csv.DictReader(handle))
    for entry in entries(role="recording"):
        if entry.path in {label["repository_path"] for label in labels}:
            try:
                content = read(entry).decode()
            except DataUnavailable:
                pytest.skip(f"needs the mirror or a network: {entry.path}")
            if entry.path.endswith(".txt"):
                rows[entry.path] = [[json.loads(line)["resp"]] for line in content.splitlines()]
            else:
                rows[entry.path] = [row["all_responses"] for row in json.loads(content)]
    for label in labels:
        path = label["repository_path"]
        text = rows[path][int(label["row"])][int(label["sample_index"])]
        held = next(one for one in RECORDINGS.values() if _is_of(path, one.files))
        scale = ((0, 1) if "_gro_" in path else (1, 3)) if "topical_chat" in path else FIVE
        found = Reading(held.form, scale, pattern=held.pattern).read(text).score
        labelled = float(label["score"] or "nan")
        if math.isnan(found):
            unread += [] if math.isnan(labelled) else [label]
        elif found != labelled:
            wrong.append((label, found))
    assert wrong == []
    assert len(unread) <= 3


def _is_of(path, files):
    start, _, end = files.partition("*")
    return start in path and path.endswith(end)
