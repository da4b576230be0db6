"""The parser: our own replies of every form, and recorded ones against labels by hand."""

import csv
import json
import math
import os
import re
from collections import Counter, defaultdict
from pathlib import Path

import pandas as pd
import pytest

from nlgjudge.data.fetch import DataUnavailable, read
from nlgjudge.data.registry import entries
from nlgjudge.judging import parsing
from nlgjudge.judging.parsing import parse, parse_all

RATED = [  # reply, form, scale, rating
    ("4", "form", (1, 5), 4), (" 3\n", "form", (1, 5), 3), ("3.", "form", (1, 5), 3),
    ("**5**", "form", (1, 5), 5), ("- 2", "form", (1, 5), 2), ("4.5", "form", (1, 5), 4.5),
    ("2,5", "form", (1, 5), 2.5), ("four", "form", (1, 5), 4), ("Three.", "form", (1, 5), 3),
    ("- Coherence: 4", "form", (1, 5), 4), ("Coherence: 2.5", "form", (1, 5), 2.5),
    ("- **Engagingness:** 3", "form", (1, 3), 3), ("> Fluency: two", "form", (1, 5), 2),
    ("4/5", "form", (1, 5), 4), ("4 / 5", "form", (1, 5), 4), ("4 out of 5", "form", (1, 5), 4),
    ("I would give it three out of five.", "form", (1, 5), 3),
    ("Rating: 2\nRationale: It drifts off after the 2nd of 3 sentences.", "form", (1, 5), 2),
    ("Score: 3 (the 1 in the title is wrong)", "form", (1, 5), 3),
    ("The summary names 3 of 7 facts and skips 2 dates.\nRating: 4", "form", (1, 5), 4),
    ("Analysis: all is well.\nRating: **1**", "form", (1, 3), 1),
    ("Nothing follows from what precedes it. 2", "form", (1, 5), 2),
    ("It has two errors in 1998, so I give it a score of 3.", "form", (1, 5), 3),
    ("The text rambles and deserves a 2 for that.", "form", (1, 5), 2),
    ("Overall score = 4", "form", (1, 5), 4), ("The final score is 2, not 5.", "form", (1, 5), 2),
    ("### Rating\nRating: 3\n", "form", (1, 5), 3),
    ("0", "form", (0, 1), 0), ("Groundedness: 1", "form", (0, 1), 1),
    ("Rating: 3. It may also be read as four by others.", "form", (1, 5), 3),
    ("4 stars", "stars", (1, 5), 4), ("Four stars. Short, clear.", "stars", (1, 5), 4),
    ("3.5 stars", "stars", (1, 5), 3.5), ("three and a half stars", "stars", (1, 5), 3.5),
    ("One star because it is made up.", "stars", (1, 5), 1), ("5-star work", "stars", (1, 5), 5),
    ("85", "number", (0, 100), 85), ("Score: 72.5", "number", (0, 100), 72.5),
    ("90/100", "number", (0, 100), 90), ("I would rate it 60 out of 100.", "number", (0, 100), 60),
    ("Overall Quality Score: 4.0", "number", (1, 5), 4), ("100", "number", (0, 100), 100),
    ("Yes", "yes_no", (), 1), ("no.", "yes_no", (), 0), ("**No**, all is supported.", "yes_no", (), 0),
    ("Answer: Yes", "yes_no", (), 1), ("The year is wrong. The answer is yes.", "yes_no", (), 1),
    ('{"score": 3}', "json", (1, 5), 3),
    ('Here:\n```json\n{"Quality": 4.5, "why": "1 slip"}\n```', "json", (1, 5), 4.5),
]
UNRATED = [  # reply, form, scale, reason
    ("", "form", (1, 5), "empty"), ("  \n", "stars", (1, 5), "empty"), ("", "json", (1, 5), "empty"),
    ("As an AI, I cannot judge this.", "form", (1, 5), "refusal"), ("N/A", "form", (1, 5), "refusal"),
    ("I'm sorry, no summary was given.", "yes_no", (), "refusal"),
    ("The summary is fine.", "form", (1, 5), "no_rating"), ("Perhaps.", "yes_no", (), "no_rating"),
    ("7", "form", (1, 5), "out_of_range"), ("Rating: 0", "form", (1, 5), "out_of_range"),
    ("- Coherence: 6", "form", (1, 5), "out_of_range"), ("120", "number", (0, 100), "out_of_range"),
    ("Rating: 2\nRating: 4", "form", (1, 5), "ambiguous"),
    ("3 stars or 4 stars", "stars", (1, 5), "ambiguous"),
    ("1. 2\n2. 3", "form", (1, 5), "ambiguous"),
    ("Answer: yes. Final answer: no", "yes_no", (), "ambiguous"),
    ("Rating: 4", "json", (1, 5), "not_json"), ('{"score": 3', "json", (1, 5), "not_json"),
    ('{"score": "high", "sure": true}', "json", (1, 5), "no_rating"),
    ('{"a": 1, "b": 2}', "json", (1, 5), "ambiguous"), ('{"a": 9}', "json", (1, 5), "out_of_range"),
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
    assert parse(text, "json", key="relevance") == (5, "") and parse(text, "json", key="Fluency").score == 2
    assert parse(text, "json", key="depth").reason == "no_rating"


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="form='table': expected one of form, stars, number, yes_no, json"):
        parse("4", "table")
    with pytest.raises(ValueError, match="policy='zero': expected one of nan, leading_or_0, store_3, drop"):
        parse_all(["4"], policy="zero")


REPLIES = pd.Series(["4", "no idea", "- Coherence: 2", "9", "no idea", "2.5 or so"], index=list("abcdef"))


def test_the_default_keeps_every_row():
    found = parse_all(REPLIES)
    assert list(found.index) == list("abcdef") and list(found.columns) == ["score", "reason"]
    assert list(found["score"].fillna(-1)) == [4, -1, 2, -1, -1, 2.5]
    assert list(found["reason"]) == ["", "no_rating", "", "out_of_range", "no_rating", ""]


@pytest.mark.parametrize("policy, scores", [
    ("leading_or_0", {"a": 4, "b": 0, "c": 0, "d": 9, "e": 0, "f": 2.5}),
    ("store_3", {"a": 4, "b": 3, "c": 2, "d": 3, "e": 3, "f": 2.5}),
    ("drop", {"a": 4, "c": 2, "f": 2.5})])
def test_what_upstream_did_instead(policy, scores):
    found = parse_all(REPLIES, policy=policy)
    assert found["score"].to_dict() == scores
    if policy != "drop":  # the reason still tells which rows were made up
        assert (found.loc[["b", "e"], "reason"] == "no_rating").all()


def test_equal_replies_are_parsed_once(monkeypatch):
    asked = Counter()

    def counting(text, *arguments, **options):
        asked[text] += 1
        return parse(text, *arguments, **options)

    monkeypatch.setattr(parsing, "parse", counting)
    found = parse_all(["4", "Rating: 2", "4"] * 500)
    assert asked == {"4": 1, "Rating: 2": 1} and found["score"].value_counts().to_dict() == {4: 1000, 2: 500}


def test_no_replies_give_an_empty_frame():
    assert list(parse_all([]).columns) == ["score", "reason"] and len(parse_all([])) == 0


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
            found[entry.path] = [[json.loads(line)["resp"]] for line in content.splitlines()] \
                if entry.path.endswith(".txt") else [row["all_responses"] for row in json.loads(content)]
    os.environ.pop("NLGJUDGE_OFFLINE") if before is None else os.environ.update(NLGJUDGE_OFFLINE=before)
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
    assert len(labels) == 300
    missing = {label["repository_path"] for label in labels} - set(recorded)
    if missing:
        pytest.skip(f"needs the mirror: {min(missing)}")
    wrong = []
    for label in labels:
        path = label["repository_path"]
        text = recorded[path][int(label["row"])][int(label["sample_index"])]
        found = parse(text, *protocol(path)).score
        if found != float(label["score"] or "nan") and not (math.isnan(found) and not label["score"]):
            wrong.append((label, found))
    assert wrong == []


def test_hardly_a_rating_is_missed(recorded):
    """At most 0.5% of each form's replies that hold a digit or a number word stay unread."""
    rated, unread = Counter(), defaultdict(list)
    number = re.compile(r"\d|\b(?:zero|one|two|three|four|five)\b", re.IGNORECASE)
    for path, rows in recorded.items():
        kind = path.split("gpt3.5_")[-1][4:] if path.endswith(".json") else re.sub("eval_M.*_", "", path)
        for text in (text for row in rows for text in row if number.search(text)):
            rated[kind] += 1
            reason = parse(text, *protocol(path)).reason
            unread[kind] += [reason] if reason else []
    assert sum(rated.values()) > 4000
    assert {kind: Counter(unread[kind]) for kind in rated if len(unread[kind]) > 0.005 * rated[kind]} == {}
