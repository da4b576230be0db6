"""Rows that say why, and means that count what they leave out."""

import pandas as pd
import pytest

from nlgjudge.judging.scoring import item_scores, responses
from nlgjudge.judging.tasks import Reply

NAN = float("nan")


REPLIES = [
    Reply("x", "fluency", 0, "4"),
    Reply("x", "fluency", 1, "I cannot rate this."),
    Reply("x", "fluency", 2, "- Fluency: 1"),
    Reply("y", "fluency", 0, "", "content_filter"),
    Reply("y", "fluency", 1, "9"),
    Reply("x", "relevance", 0, "2"),
]


def test_rows_are_kept_and_say_why():
    frame = responses(REPLIES)
    assert list(frame) == ["item_id", "aspect", "sample_index", "text", "score", "reason"]
    assert frame["score"].tolist() == pytest.approx([4, NAN, 1, NAN, NAN, 2], nan_ok=True)
    assert frame["reason"].tolist() == ["", "refusal", "", "content_filter", "out_of_range", ""]
    assert frame["text"].tolist() == [r.text for r in REPLIES]


@pytest.mark.parametrize("reason", ["not asked", "not answered", "not recorded"])
def test_where_nothing_was_said_no_policy_makes_a_score(reason):
    replies = [Reply("x", "fluency", 0, "4"), Reply("y", "fluency", 0, "", reason)]
    for policy in ("nan", "store_3", "leading_or_0", "drop"):
        known = [4] if policy == "drop" else [4, NAN]
        frame = responses(replies, policy=policy)
        assert frame["score"].tolist() == pytest.approx(known, nan_ok=True)
        assert frame["reason"].tolist() == ["", reason][: len(known)]


@pytest.mark.parametrize(
    "text, scale, score, reason",
    [
        ("8", (0, 100), NAN, "length"),  # may be the beginning of 85
        ("1", (1, 10), NAN, "length"),
        ("Rating: 4.", (1, 5), NAN, "length"),
        ("Rating: 8\nIt is", (0, 100), 8, ""),
        ("4", (1, 5), 4, ""),  # no rating of two digits
        ("Let us see", (1, 5), NAN, "length"),
        ("", (1, 5), NAN, "length"),
    ],
)
def test_a_cut_reply_has_a_score_if_no_digit_can_change_it(text, scale, score, reason):
    found = responses([Reply("x", "fluency", 0, text, "length")], scale=scale)
    assert found["score"].tolist() == pytest.approx([score], nan_ok=True)
    assert found["reason"].tolist() == [reason]
    tokens = [["8", [["8", -0.1], ["9", -3.0]]]]
    weighed = responses([Reply("x", "fluency", 0, "8", "length", tokens)], scale=(0, 100))
    assert weighed["score"].isna().all() and weighed["reason"].tolist() == ["length"]


def test_scale_by_aspect():
    asked = [("x", "grounded", "0"), ("x", "quality", "60"), ("y", "quality", "0")]
    replies = [Reply(item, aspect, 0, text) for item, aspect, text in asked]
    frame = responses(replies, scale={"grounded": (0, 1), "quality": (1, 100)}, form="number")
    assert frame["score"].tolist() == pytest.approx([0, 60, NAN], nan_ok=True)
    with pytest.raises(KeyError, match="quality"):
        responses(replies, scale={"grounded": (0, 1)})


def test_a_frame_without_reasons_and_with_repeated_row_numbers():
    """Two recordings, one below the other, keep one row each."""
    part = pd.DataFrame(
        [("x", "fluency", 0, "5"), ("x", "fluency", 1, "no")],
        columns=["item_id", "aspect", "sample_index", "text"],
    )
    frame = responses(pd.concat([part, part.assign(item_id="y")]))
    assert frame["item_id"].tolist() == ["x", "x", "y", "y"]
    assert frame["score"].tolist() == pytest.approx([5, NAN, 5, NAN], nan_ok=True)
    assert frame["reason"].tolist() == ["", "no_rating", "", "no_rating"]


@pytest.mark.parametrize(
    "samples, expected",
    [
        # (4 + 1) / 2 over the two of three that were parsed; y has none
        (None, [(2.5, 2, 1), (NAN, 0, 2), (2, 1, 0)]),
        (2, [(4, 1, 1), (NAN, 0, 2), (2, 1, 0)]),
        (1, [(4, 1, 0), (NAN, 0, 1), (2, 1, 0)]),
    ],
)
def test_means_are_over_parsed_samples(samples, expected):
    frame = item_scores(responses(REPLIES), samples=samples)
    expected = pd.DataFrame(expected, columns=["score", "parsed", "unparsed"])
    expected.insert(0, "item_id", ["x", "y", "x"])
    expected.insert(1, "aspect", ["fluency", "fluency", "relevance"])
    pd.testing.assert_frame_equal(frame, expected)


def test_wide_has_a_column_by_judge_and_aspect():
    scores = item_scores(responses(REPLIES))
    frame = item_scores({"one": scores, "two": scores[scores["item_id"] == "y"]})
    assert list(frame) == ["item_id", "one:fluency", "one:relevance", "two:fluency"]
    assert frame["item_id"].tolist() == ["x", "y"]
    assert frame["one:fluency"].tolist() == pytest.approx([2.5, NAN], nan_ok=True)
    assert frame["one:relevance"].tolist() == pytest.approx([2, NAN], nan_ok=True)
    assert frame["two:fluency"].isna().all()


def test_no_replies_is_an_empty_frame():
    frame = responses([])
    assert list(frame) == ["item_id", "aspect", "sample_index", "text", "score", "reason"]
    assert len(frame) == 0 and len(item_scores(frame)) == 0
