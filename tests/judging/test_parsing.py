"""The parser: our own replies of every form, and recorded ones against labels by hand."""

import csv
import json
import math
import os
import random
import re
import shutil
import time
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from nlgjudge.data.fetch import DataUnavailable, read
from nlgjudge.data.registry import entries
from nlgjudge.judging import parsing
from nlgjudge.judging.parsing import parse, parse_all
from nlgjudge.judging.scoring import responses
from nlgjudge.judging.tasks import Reply
from planted import SETS, replies

RATED = [  # reply, form, scale, rating
    ("4", "form", (1, 5), 4),
    (" 3\n", "form", (1, 5), 3),
    ("3.", "form", (1, 5), 3),
    ("**5**", "form", (1, 5), 5),
    ("- 2", "form", (1, 5), 2),
    ("4.5", "form", (1, 5), 4.5),
    ("2,5", "form", (1, 5), 2.5),
    ("four", "form", (1, 5), 4),
    ("Three.", "form", (1, 5), 3),
    ("- Coherence: 4", "form", (1, 5), 4),
    ("Coherence: 2.5", "form", (1, 5), 2.5),
    ("- **Engagingness:** 3", "form", (1, 3), 3),
    ("> Fluency: two", "form", (1, 5), 2),
    ("4/5", "form", (1, 5), 4),
    ("4 / 5", "form", (1, 5), 4),
    ("4 out of 5", "form", (1, 5), 4),
    ("I would give it three out of five.", "form", (1, 5), 3),
    ("Rating: 2\nRationale: It drifts off after the 2nd of 3 sentences.", "form", (1, 5), 2),
    ("Score: 3 (the 1 in the title is wrong)", "form", (1, 5), 3),
    ("The summary names 3 of 7 facts and skips 2 dates.\nRating: 4", "form", (1, 5), 4),
    ("Analysis: all is well.\nRating: **1**", "form", (1, 3), 1),
    ("Nothing follows from what precedes it. 2", "form", (1, 5), 2),
    ("It has two errors in 1998, so I give it a score of 3.", "form", (1, 5), 3),
    ("The text rambles and deserves a 2 for that.", "form", (1, 5), 2),
    ("Overall score = 4", "form", (1, 5), 4),
    ("The final score is 2, not 5.", "form", (1, 5), 2),
    ("### Rating\nRating: 3\n", "form", (1, 5), 3),
    ("0", "form", (0, 1), 0),
    ("Groundedness: 1", "form", (0, 1), 1),
    ("Rating: 3. It may also be read as four by others.", "form", (1, 5), 3),
    ("4 stars", "stars", (1, 5), 4),
    ("Four stars. Short, clear.", "stars", (1, 5), 4),
    ("3.5 stars", "stars", (1, 5), 3.5),
    ("three and a half stars", "stars", (1, 5), 3.5),
    ("One star because it is made up.", "stars", (1, 5), 1),
    ("5-star work", "stars", (1, 5), 5),
    ("85", "number", (0, 100), 85),
    ("Score: 72.5", "number", (0, 100), 72.5),
    ("90/100", "number", (0, 100), 90),
    ("I would rate it 60 out of 100.", "number", (0, 100), 60),
    ("Overall Quality Score: 4.0", "number", (1, 5), 4),
    ("100", "number", (0, 100), 100),
    ("Yes", "yes_no", (), 1),
    ("no.", "yes_no", (), 0),
    ("**No**, all is supported.", "yes_no", (), 0),
    ("Answer: Yes", "yes_no", (), 1),
    ("The year is wrong. The answer is yes.", "yes_no", (), 1),
    ('{"score": 3}', "json", (1, 5), 3),
    ('Here:\n```json\n{"Quality": 4.5, "why": "1 slip"}\n```', "json", (1, 5), 4.5),
]
UNRATED = [  # reply, form, scale, reason
    ("", "form", (1, 5), "empty"),
    ("  \n", "stars", (1, 5), "empty"),
    ("", "json", (1, 5), "empty"),
    ("As an AI, I cannot judge this.", "form", (1, 5), "refusal"),
    ("N/A", "form", (1, 5), "refusal"),
    ("I'm sorry, no summary was given.", "yes_no", (), "refusal"),
    ("The summary is fine.", "form", (1, 5), "no_rating"),
    ("Perhaps.", "yes_no", (), "no_rating"),
    ("7", "form", (1, 5), "out_of_range"),
    ("Rating: 0", "form", (1, 5), "out_of_range"),
    ("- Coherence: 6", "form", (1, 5), "out_of_range"),
    ("120", "number", (0, 100), "out_of_range"),
    ("Rating: 2\nRating: 4", "form", (1, 5), "ambiguous"),
    ("3 stars or 4 stars", "stars", (1, 5), "ambiguous"),
    ("1. 2\n2. 3", "form", (1, 5), "ambiguous"),
    ("Answer: yes. Final answer: no", "yes_no", (), "ambiguous"),
    ("Rating: 4", "json", (1, 5), "not_json"),
    ('{"score": 3', "json", (1, 5), "not_json"),
    ('{"score": "high", "sure": true}', "json", (1, 5), "no_rating"),
    ('{"a": 1, "b": 2}', "json", (1, 5), "ambiguous"),
    ('{"a": 9}', "json", (1, 5), "out_of_range"),
    ('{"a": NaN}', "json", (1, 5), "out_of_range"),
]


@pytest.mark.parametrize("text, form, scale, rating", RATED)
def test_a_rating_is_read(text, form, scale, rating):
    assert parse(text, form, scale) == (rating, "")


@pytest.mark.parametrize("text, form, scale, reason", UNRATED)
def test_a_reply_without_a_rating_says_why(text, form, scale, reason):
    found = parse(text, form, scale)
    assert math.isnan(found.score) and found.reason == reason


@pytest.mark.parametrize("form", ["form", "stars", "number"])
def test_the_three_forms_accept_each_other_s_ways(form):
    for text, asked, scale, rating in RATED:
        if asked in ("form", "stars", "number"):
            assert parse(text, form, scale).score == rating


def test_json_takes_the_named_rating():
    text = '{"Relevance": 5.0, "Fluency": 2}'
    assert (
        parse(text, "json", key="relevance") == (5, "")
        and parse(text, "json", key="Fluency").score == 2
    )
    assert parse(text, "json", key="depth").reason == "no_rating"


def test_unknown_names_are_refused():
    with pytest.raises(
        ValueError, match="form='table': expected one of form, .*, yes_no, json, choice"
    ):
        parse("4", "table")
    with pytest.raises(
        ValueError, match="policy='zero': expected one of nan, leading_or_0, store_3, drop"
    ):
        parse_all(["4"], policy="zero")


REPLIES = pd.Series(
    ["4", "no idea", "- Coherence: 2", "9", "no idea", "2.5 or so"], index=list("abcdef")
)


def test_the_default_keeps_every_row():
    found = parse_all(REPLIES)
    assert list(found.index) == list("abcdef") and list(found.columns) == ["score", "reason"]
    assert list(found["score"].fillna(-1)) == [4, -1, 2, -1, -1, 2.5]
    assert list(found["reason"]) == ["", "no_rating", "", "out_of_range", "no_rating", ""]


@pytest.mark.parametrize(
    "policy, scores",
    [
        ("leading_or_0", {"a": 4, "b": 0, "c": 0, "d": 9, "e": 0, "f": 2.5}),
        ("store_3", {"a": 4, "b": 3, "c": 2, "d": 3, "e": 3, "f": 2.5}),
        ("first_digit_or_0", {"a": 4, "b": 0, "c": 2, "d": 9, "e": 0, "f": 2}),
        ("drop", {"a": 4, "c": 2, "f": 2.5}),
    ],
)
def test_what_upstream_did_instead(policy, scores):
    found = parse_all(REPLIES, policy=policy)
    assert found["score"].to_dict() == scores
    if policy != "drop":  # the reason still tells which rows were made up
        assert (found.loc[["b", "e"], "reason"] == "no_rating").all()


# What `re.search("^ ?([\\d\\.]+)", reply)` and `float` give in meta_eval_summeval.py of nlpyang/geval, commit 8f54105.
@pytest.mark.parametrize(
    "reply, score",
    [
        ("4", 4),
        (" 4", 4),
        ("  4", 0),
        ("\n4", 0),
        ("70", 70),
        ("4.", 4),
        ("4/5", 4),
        ("4.5.6", 0),
        ("...", 0),
        ("- Fluency: 2", 0),
        ("2 of 3", 2),
    ],
)
def test_g_evals_script_takes_a_number_after_one_blank_at_most(reply, score):
    assert parse_all([reply], policy="leading_or_0")["score"].tolist() == [score]


# What `parse_output` of meta_eval_summeval.py of d223302/A-Closer-Look-To-LLM-Evaluation, commit 5cafdc6, gives;
# that of all_eval.py gives 0 in the place of nothing.
@pytest.mark.parametrize(
    "reply, score",
    [
        ("3", 3),
        ("- Coherence: 2", 2),
        ("2.5", 2),
        ("10", 1),
        ("12/20", 1),
        ("It adds 2 facts.\nRating: 3", 3),
        ("Rating: 1\nRationale: a rating: none", None),
        ("RATING: 3 (1-3)", 3),
        ("On 1-3 I say 2", 2),
        ("-1", 1),
        ("...", None),
        ("The response is natural.", None),
    ],
)
def test_chiang_and_lees_script_takes_the_first_digit_after_the_last_rating(reply, score):
    read = parse_all([reply] * 2, policy="first_digit")["score"]
    assert read.isna().all() if score is None else read.tolist() == [score] * 2
    assert parse_all([reply], policy="first_digit_or_0")["score"].tolist() == [score or 0]


MANY = [
    f"{text} {number}"
    for number in range(100)
    for text in (
        "Rating:",
        "It drifts off.\nRating:",
        "I cannot say.",
        "It names",
        "Rating: 2 or",
        "Rating: -",
        "A score of",
    )
]


def test_many_replies_are_read_as_each_alone_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_CACHE", str(tmp_path))
    given = pd.Series([*MANY, None, *MANY[:9]])
    alone = pd.DataFrame([parse(text, "stars", (1, 10), aspect="style") for text in given])
    pd.testing.assert_frame_equal(parse_all(given, "stars", (1, 10), aspect="style"), alone)
    monkeypatch.setattr(parsing, "parse", lambda *_, **__: parsing.Score(0.0))
    again = parse_all(MANY, "stars", (1, 10), aspect="style")
    pd.testing.assert_frame_equal(again, alone.head(len(MANY)))
    for form, scale, aspect in (
        ("form", (1, 10), "style"),
        ("stars", (1, 5), "style"),
        ("stars", (1, 10), ""),
    ):
        assert set(parse_all(MANY, form, scale, aspect=aspect)["score"]) == {
            0.0
        }  # asked otherwise: read anew


def test_many_replies_are_read_where_nothing_can_be_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    assert parse_all(MANY)["score"].tolist()[7:14:6] == [1.0, 1.0]


def test_kept_readings_hold_for_the_source_that_read_them(tmp_path, commands):
    package = tmp_path / "nlgjudge"
    shutil.copytree(
        Path(parsing.__file__).parents[1], package
    )  # compiled modules too: their times are copied
    count = (
        "from nlgjudge.judging.parsing import parse_all\n"
        "parse_all([f'Rating: {number}' for number in range(600)])\n"
    )
    environment = {"PYTHONPATH": str(tmp_path), "NLGJUDGE_CACHE": str(tmp_path / "cache")}
    made = []
    for change in ("", "# another way of stating a rating\n"):
        with (package / "judging" / "tiers.py").open("a", encoding="utf-8") as source:
            source.write(change)
        done = commands.run("-c", count, **environment)
        assert done.returncode == 0, done.stderr
        made.append(len(list((tmp_path / "cache" / "readings").glob("*.npz"))))
    assert made == [1, 2]


def test_equal_replies_are_parsed_once(monkeypatch):
    asked = Counter()

    def counting(text, *arguments, **options):
        asked[text] += 1
        return parse(text, *arguments, **options)

    monkeypatch.setattr(parsing, "parse", counting)
    found = parse_all(["4", "Rating: 2", "4"] * 500)
    assert asked == {"4": 1, "Rating: 2": 1} and found["score"].value_counts().to_dict() == {
        4: 1000,
        2: 500,
    }


def test_no_replies_give_an_empty_frame():
    assert list(parse_all([]).columns) == ["score", "reason"] and len(parse_all([])) == 0


# What the parser used to make of a reply is named where it was wrong.

MISREAD = [  # reply, scale, rating (None: none), reason, what it was before
    (
        "I give it a score of 3 out of 5. Here is the breakdown of the score:\n\n1. Grammar: 3/5",
        (1, 5),
        3,
        "",
        1,
    ),
    ("Rating:\n* 1 point for style", (1, 5), None, "no_rating", 1),
    ("* 1 point", (1, 5), None, "ambiguous", 1),
    ("1. Coherence: 2", (1, 5), 2, "", 1),
    ("Rating scale:\n1 = bad\n2 = poor\n3 = fair\n4 = good\n5 = excellent", (1, 5), None, None, 1),
    ("Score: 1 = bad, 2 = poor, 3 = fair", (1, 5), None, None, 1),
    ("Rating: -1", (1, 5), None, "out_of_range", 1),
    ("-2", (1, 5), None, "out_of_range", 2),
    ("Score: 4/10", (1, 5), None, "other_scale", 4),
    ("Score: 4 (max. 10)", (1, 5), None, "other_scale", 4),
    ("On a scale of 1 to 10, I would give it a 4.", (1, 5), None, "other_scale", 4),
    ("7 out of 10", (0, 100), None, "other_scale", 7),
    ("2-3", (1, 5), None, "ambiguous", 2),
    ("Rating: 2 or 3", (1, 5), None, "ambiguous", 2),
    ("Score: 1,200", (1, 5), None, "out_of_range", 1.2),
    ("Rating: 3/5/2023", (1, 5), None, None, 3),
    ("It covers 3 out of 5 key points.", (1, 5), None, "no_rating", 3),
    ("It has 3 errors.", (1, 5), None, "no_rating", 3),
    ("I would not give it a 5.", (1, 5), None, "no_rating", 5),
    ("It would have deserved a 5 if it had been shorter.", (1, 5), None, "no_rating", 5),
    ("Score: 3. I give it a 4.", (1, 5), None, "ambiguous", 3),
    ("<think>Rating: 2?</think>4", (1, 5), 4, "", 2),
]
MISSED = [  # reply, scale, rating
    ("Coherence (1-5): 3", (1, 5), 3),
    ("I would score this summary as a 5, indicating that it has all that matters.", (1, 5), 5),
    (
        "Coherence: 3. The response follows from what was said before it. It adds a fact of its own.",
        (1, 5),
        3,
    ),
    ("Score - 4\nIt says what happened and to whom, and it leaves nothing out.", (1, 5), 4),
    (
        "Score 3 - The summary has the main point and leaves out the rest of what was said.",
        (1, 5),
        3,
    ),
    ("Rating: [[4]] It says what happened and to whom, and it leaves nothing out.", (1, 5), 4),
    ("<score>4</score> It says what happened and to whom, and it leaves nothing out.", (1, 5), 4),
    ("It says what happened and to whom, and how. The answer is \\boxed{4}.", (1, 5), 4),
    ("| Criterion | Score |\n|---|---|\n| Coherence | 4 |\n\nIt says what happened.", (1, 5), 4),
    ("★★★☆☆ It says what happened and to whom, and it leaves much out.", (1, 5), 3),
    ("Score: 85%", (0, 100), 85),
    ("It says what happened and to whom, and leaves nothing out.\nRating：★★★★", (1, 5), 4),
]


@pytest.mark.parametrize("text, scale, rating, reason, before", MISREAD)
def test_what_was_misread(text, scale, rating, reason, before):
    found = parse(text, "form", scale)
    if rating is None:
        assert math.isnan(found.score) and found.reason == (reason or found.reason) != ""
    else:
        assert found == (rating, "")
    assert found.score != before


@pytest.mark.parametrize("text, scale, rating", MISSED)
def test_what_was_missed(text, scale, rating):
    assert parse(text, "form", scale) == (rating, "")


def test_a_negative_scale_has_negative_ratings():
    assert parse("Rating: -1", "form", (-2, 2)).score == -1
    assert parse("Rating – 1", "form", (-2, 2)).score == 1  # a dash between blanks is no minus sign


@pytest.mark.parametrize(
    "text, score",
    [
        ("yes and no", None),
        ("Yes/No", None),
        ("No idea.", None),
        ("No, it is supported.", 0),
        ("yes\n", 1),
    ],
)
def test_yes_and_no_is_neither(text, score):
    found = parse(text, "yes_no").score
    assert found == score or (score is None and math.isnan(found))


# JSON


@pytest.mark.parametrize(
    "text, reason",
    [
        ('{"score": 1' + "0" * 400 + "}", "out_of_range"),  # OverflowError before
        (
            '{"score": 1' + "0" * 5000 + "}",
            "not_json",
        ),  # ValueError before: Python reads no such integer
        ('{"score": ' + "[" * 100_000 + "]" * 100_000 + "}", "not_json"),  # RecursionError before
        ('{"score": Infinity}', "out_of_range"),
        ('{"score": 1e999}', "out_of_range"),
        ("}{", "not_json"),
        ("[3]", "not_json"),
        ("3", "not_json"),
        ('"score"', "not_json"),
        ("}", "not_json"),
        ("{}", "no_rating"),
        ('{"score": null}', "no_rating"),
        ('{"score": true}', "no_rating"),
        ('{"score": 3, "score": 4}', "ambiguous"),
        ('{"Score": 3, "score": 4}', "ambiguous"),
    ],
)
def test_json_that_is_no_rating_says_why(text, reason):
    found = parse(text, "json")
    assert math.isnan(found.score) and found.reason == reason


@pytest.mark.parametrize(
    "text, key, rating",
    [
        ('{"score": 3, "confidence": 0.9}', "", 3),
        ('{"score": "4"}', "", 4),
        (
            '{"coherence": {"score": 2, "why": "It wanders."}, "fluency": {"score": 5}}',
            "coherence",
            2,
        ),
    ],
)
def test_json_in_other_shapes(text, key, rating):
    assert parse(text, "json", key=key) == (rating, "")


# Choices by letter

OPTIONS = {"Very good": 5, "Good": 4, "Neither good nor bad": 3, "Bad": 2, "Very bad": 1}


@pytest.mark.parametrize(
    "text, rating",
    [
        ("B", 4),
        ("b", 4),
        (" (B) ", 4),
        ("**B**", 4),
        ("B.", 4),
        ("B. Good", 4),
        ("b) good", 4),
        ("B: Good.", 4),
        ("Answer: B", 4),
        ("The answer is B.", 4),
        ("The answer is (B) Good.", 4),
        ("Option B", 4),
        ("\\boxed{B}", 4),
        ("I would choose option D because it repeats itself.", 2),
        ("My choice: D - bad", 2),
        ("Good", 4),
        ("good.", 4),
        ("Very bad", 1),
        ('"Very good"', 5),
        ("Answer: Neither good nor bad.", 3),
        ("A\n\nA summary as it should be.", 5),
        ("It repeats itself and stops short.\n\nFinal answer: **E**", 1),
        ("Not A. I choose B.", 4),
        ("A. Very good\nB. Good\nC. Neither good nor bad\nD. Bad\nE. Very bad\n\nAnswer: D", 2),
        ("A clear text.\nAnswer: C", 3),
    ],
)
def test_a_choice_by_letter_or_text(text, rating):
    assert parse(text, "choice", (1, 5), options=OPTIONS) == (rating, "")


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "empty"),
        ("B. Bad", "ambiguous"),
        ("The answer is B (Very bad).", "ambiguous"),
        ("A\nBad", "no_rating"),
        ("Answer: A\nAnswer: B", "ambiguous"),
        ("F", "no_rating"),
        ("A good text.", "no_rating"),
        ("A or B", "no_rating"),
        ("I cannot choose.", "refusal"),
        ("The grammar is good but the plot is bad.", "no_rating"),
        ("3", "no_rating"),
        ("A. Very good\nB. Good\nC. Neither good nor bad\nD. Bad\nE. Very bad", "no_rating"),
    ],
)
def test_a_choice_in_doubt_is_none(text, reason):
    found = parse(text, "choice", (1, 5), options=OPTIONS)
    assert math.isnan(found.score) and found.reason == reason


def test_a_list_of_options_is_spread_over_the_scale():
    worst_first = ["poor", "fair", "good"]
    assert [parse(letter, "choice", (1, 5), options=worst_first).score for letter in "ABC"] == [
        1,
        3,
        5,
    ]
    found = parse_all(["A", "B. fair", "?"], "choice", (0, 100), options=worst_first)
    assert found["score"].fillna(-1).tolist() == [0, 50, -1]
    replies = [Reply("a", "coherence", 0, "C"), Reply("b", "coherence", 0, "fair")]
    assert responses(replies, form="choice", options=worst_first)["score"].tolist() == [5, 3]


@pytest.mark.parametrize(
    "options", [None, [], ["good"], ["good", "Good."], {"good": 1, "bad": float("nan")}]
)
def test_a_choice_needs_options_that_can_be_told_apart(options):
    with pytest.raises(ValueError, match="form='choice' with .* options="):
        parse("A", "choice", options=options)


# Any text

FORMS_AND_OPTIONS = [(form, OPTIONS if form == "choice" else None) for form in parsing.FORMS]
PIECES = [
    "\n",
    " ",
    "\t",
    "\r\n",
    "- ",
    "* ",
    "**",
    "#",
    ">",
    "1",
    "4",
    "-3",
    "4.5",
    "2,5",
    "/5",
    "10",
    "999999999999",
    "٣",
    "½",
    "★",
    "☆",
    "one",
    "three",
    "and a half",
    " out of ",
    "%",
    "rating",
    "Score",
    ":",
    "=",
    "(",
    ")",
    "[[",
    "]]",
    "{",
    "}",
    '"score"',
    ",",
    "coherence",
    "final ",
    "overall ",
    "I would give it a ",
    "if it ",
    "not ",
    "scale of ",
    " to ",
    "point",
    "stars",
    ".",
    "?",
    "yes",
    "no",
    "answer is ",
    "A",
    "b)",
    "Good",
    "<think>",
    "</think>",
    "\\boxed{",
    "|",
    "\x00",
    "\ud800",
    "\u2028",
    "\u0130",
    "é",
    "…",
    "⋯",
]


def test_no_text_raises():
    rng = random.Random(13)
    scales = [(1, 5), (0, 1), (0, 100), (-2, 2)]
    for _ in range(2000):
        text = "".join(rng.choices(PIECES, k=rng.randint(1, 30)))
        for form, options in FORMS_AND_OPTIONS:
            scale = rng.choice(scales)
            found = parse(text, form, scale, options=options)
            assert math.isnan(found.score) == (found.reason != ""), (text, form)
            if form not in ("yes_no", "choice") and not found.reason:
                assert scale[0] <= found.score <= scale[1], (text, form)


@pytest.mark.parametrize(
    "piece",
    [
        "\n",
        " ",
        "* ",
        "1",
        "score ",
        "Rating: 3 (",
        "i would give ",
        "rating\n",
        "one ",
        "{",
        "if it ",
        "A. \n",
        "<a>",
        "(",
        "\t\n",
    ],
)
def test_many_characters_are_read_in_time(piece):
    """Time in proportion to the length; what grows with its square, as it did, would take many minutes."""
    text, before = piece * (20_000 // len(piece)) + "x", time.process_time()
    for form, options in FORMS_AND_OPTIONS:
        assert parse(text, form, options=options).reason != "empty"
    assert time.process_time() - before < 5  # an eighth of a second is usual


def test_replies_that_are_no_strings_are_empty():
    assert parse(None).reason == parse(math.nan).reason == "empty"


# Planted replies


@pytest.mark.parametrize("name", SETS)
def test_planted_ratings_are_found(name):
    """25,000 replies in all; at most 1 in 20,000 read wrongly and 0.5% of the readable ones left unread."""
    readable = unread = 0
    wrong = []
    for text, scale, truth in replies(name, 5_000, seed=22):
        found = parse(text, "stars" if name == "stars" else "form", scale)
        readable += truth is not None
        if found.reason:
            unread += truth is not None
        elif found.score != truth:
            wrong.append((text, scale, truth, found))
    assert wrong == []
    assert readable > 1_500
    assert unread <= 0.005 * readable


# Recorded replies.


@pytest.fixture(scope="module")
def recorded():
    """Replies of the mirrored recordings by path: a list of samples a row."""
    found, before = {}, os.environ.get("NLGJUDGE_OFFLINE")
    os.environ["NLGJUDGE_OFFLINE"] = "1"
    for entry in entries(role="recording"):
        if entry.repository.startswith(("d223302/", "DAMO-NLP-SG/")):
            try:
                content = read(entry)
            except DataUnavailable:
                continue
            found[entry.path] = (
                [[json.loads(line)["resp"]] for line in content.splitlines()]
                if entry.path.endswith(".txt")
                else [row["all_responses"] for row in json.loads(content)]
            )
    os.environ.pop("NLGJUDGE_OFFLINE") if before is None else os.environ.update(
        NLGJUDGE_OFFLINE=before
    )
    if not found:
        pytest.skip("needs the mirror: recorded replies of judges")
    return found


def protocol(path):
    """Form and scale that a recording was asked for."""
    if "topical_chat" in path:
        return "form", (0, 1) if "_gro_" in path else (1, 3)
    return "stars" if "stareval" in path else "form", (1, 5)


def test_the_labels_by_hand(recorded):
    with open(Path(__file__).with_name("labels.csv"), newline="", encoding="utf-8") as handle:
        labels = list(csv.DictReader(handle))
    assert len(labels) == 526
    missing = {label["repository_path"] for label in labels} - set(recorded)
    if missing:
        pytest.skip(f"needs the mirror: {min(missing)}")
    wrong = []
    unread = []
    for label in labels:
        path = label["repository_path"]
        text = recorded[path][int(label["row"])][int(label["sample_index"])]
        found = parse(text, *protocol(path)).score
        labelled = float(label["score"] or "nan")
        if math.isnan(found):
            unread += [] if math.isnan(labelled) else [label]
        elif found != labelled:
            wrong.append((label, found))
    assert wrong == []
    assert len(unread) <= 1  # a "1." with two letters behind it, which may number a list


def test_hardly_a_rating_is_missed(recorded):
    """At most 0.5% of each form's replies that hold a digit or a number word stay unread."""
    rated, unread = Counter(), defaultdict(list)
    read = cache(parse)  # most replies are a digit, given again and again
    number = re.compile(r"\d|\b(?:zero|one|two|three|four|five)\b", re.IGNORECASE)
    for path, rows in recorded.items():
        kind = (
            path.split("gpt3.5_")[-1][4:]
            if path.endswith(".json")
            else re.sub("eval_M.*_", "", path)
        )
        for text in (text for row in rows for text in row if number.search(text)):
            rated[kind] += 1
            reason = read(text, *protocol(path)).reason
            unread[kind] += [reason] if reason else []
    assert sum(rated.values()) > 4000
    assert {
        kind: Counter(unread[kind]) for kind in rated if len(unread[kind]) > 0.005 * rated[kind]
    } == {}


@pytest.mark.parametrize(
    "text, score",
    [
        ("⭐⭐⭐½\n\nThe plot hangs together.", 3.5),
        ("**2.5 stars** ★★½", 2.5),
        ("★★★½☆", 3.5),
        ("4 ⭐", 4),
        ("4.5 ⭐", 4.5),
        ("Coherence: 5/5 ✅", 5),
        ("Engagingness: 3 ✨\n\nI loved it!", 3),
        ("Coherence evaluation result: 4 👍", 4),
    ],
)
def test_half_stars_and_small_pictures(text, score):
    """Half a star was dropped in silence, and a picture behind a number hid it."""
    assert parse(text, "stars", (1, 5)) == (score, "")
