"""Expected scores by hand: probabilities are read where the reply's own rating is read."""

import math

import pandas as pd
import pytest

from nlgjudge.judging.reading import Reading, distributions
from nlgjudge.judging.scoring import item_scores, responses
from nlgjudge.judging.tasks import Reply


def expected_score(logprobs, estimator="expected", **how):
    found = Reading(**how).weigh(logprobs)
    return found.by(estimator), 1 - found.mass


NAN = math.nan


def sure(*tokens):
    return [[token, [[token, 0.0]]] for token in tokens]


def likely(token, *pairs):
    return [token, [[other, math.log(share)] for other, share in pairs]]


SLIPS = [*sure("It", " has"), likely(" 2", (" 2", 0.9), (" 1", 0.1))]
SLIPS += sure(" slips", ".\n", "Rating", ":")
FOUR_FIVE = (" 4", 0.6), (" 5", 0.2)
FIVE_OR_0 = likely("5", ("5", 0.7), ("0", 0.3))
ONE_OR_2 = likely("1", ("1", 0.9), ("2", 0.1))
ONE_OR_9_OR_8 = likely("1", ("1", 0.9), ("9", 0.07), ("8", 0.03))


@pytest.mark.parametrize(
    "logprobs, scale, score, outside",
    [
        # a number before the rating is not the rating: 5 * 0.9 + 4 * 0.1
        ([*SLIPS, likely(" 5", (" 5", 0.9), (" 4", 0.1))], (1, 5), 4.9, 0),
        # a label that shows the scale: (4 * 0.6 + 5 * 0.2) / 0.8, and 0.2 lies on "the"
        (
            [*sure("Score", " (", "1", "-", "5", "):"), likely(" 4", *FOUR_FIVE, (" the", 0.2))],
            (1, 5),
            3.4 / 0.8,
            0.2,
        ),
        # " 4", "4" and "4\n" are one rating: 4 * 0.6 + 2 * 0.4
        ([likely(" 4", (" 4", 0.3), ("4", 0.2), ("4\n", 0.1), ("2", 0.4))], (1, 5), 3.2, 0),
        # 0 and 7 lie outside the scale: (3 * 0.5 + 1 * 0.1) / 0.6
        ([likely("3", ("3", 0.5), ("0", 0.2), ("7", 0.2), ("1", 0.1))], (1, 5), 1.6 / 0.6, 0.4),
        # whole tokens on 0 to 100: 85 * 0.5 + 90 * 0.3 + 100 * 0.2
        ([likely("85", ("85", 0.5), ("90", 0.3), ("100", 0.2))], (0, 100), 89.5, 0),
        # a digit at a time: which rating an alternative to the first digit becomes is not known
        ([likely("8", ("8", 0.6), ("7", 0.4)), FIVE_OR_0], (0, 100), NAN, 1),
        # but 8 is certain here: 85 * 0.7 + 80 * 0.3
        ([*sure("8"), FIVE_OR_0], (0, 100), 83.5, 0),
        # 100 from three tokens; "10" and a line break is ten: 100 * 0.9 + 10 * 0.1
        ([*sure("1", "0"), likely("0", ("0", 0.9), ("\n", 0.1))], (0, 100), 91, 0),
        # 10 from two tokens: 10 * 0.9 * 0.99 + 1 * 0.9 * 0.01 + 9 * 0.07 + 8 * 0.03
        ([ONE_OR_9_OR_8, likely("0", ("0", 0.99), ("\n", 0.01))], (0, 10), 9.789, 0),
        # "1" that ends: 10 * 0.9 * 0.4 + 1 * 0.9 * 0.6 + 2 * 0.1
        ([ONE_OR_2, likely("\n", ("\n", 0.6), ("0", 0.4))], (0, 10), 4.34, 0),
        # "1" beside 9 may become 10, unless "10" is a token of its own: 9 * 0.7 + 10 * 0.2 + 1 * 0.1
        ([likely("9", ("9", 0.7), ("1", 0.3))], (0, 10), NAN, 1),
        ([likely("9", ("9", 0.7), ("10", 0.2), ("1", 0.1))], (0, 10), 8.4, 0),
        # a sign of its own: -1 * 0.8 * 0.9 - 2 * 0.8 * 0.1 + 1 * 0.2
        ([likely(" -", (" -", 0.8), (" 1", 0.2)), ONE_OR_2], (-2, 2), -0.68, 0),
        # decimals: "3" may become 3.5
        ([likely("4", ("4", 0.7), ("3", 0.3)), *sure(".", "5")], (1, 5), NAN, 1),
        ([*sure("4", "."), likely("5", ("5", 0.9), ("0", 0.1))], (1, 5), 4.45, 0),
        # a number word is a rating: 4 * 0.5 + 5 * 0.5
        ([likely("Four", ("Four", 0.5), ("5", 0.5))], (1, 5), 4.5, 0),
        ([["3", []]], (1, 5), 3, 0),  # a server that names no alternatives
        # exp(-9999) is 0 in double precision, yet 4 and 5 are equally likely and 3 is e times less so:
        # (4 + 5 + 3 / e) / (2 + 1 / e)
        ([["4", [["4", -9999.0], ["5", -9999.0], ["3", -10000.0]]]], (1, 5), 4.266957, 1),
        # what rounding put above 0 is 0
        ([["4", [["4", 0.001], ["5", -math.inf]]]], (1, 5), 4, 0),
        ([*sure("2", "5")], (1, 5), NAN, 1),  # 25 is no rating
        ([], (1, 5), NAN, 1),
    ],
)
def test_expected_score_by_hand(logprobs, scale, score, outside):
    found = expected_score(logprobs, scale=scale)
    assert found[0] == pytest.approx(score, nan_ok=True, rel=1e-6)
    assert found[1] == pytest.approx(outside, abs=1e-12)


@pytest.mark.parametrize(
    "alternatives",
    [
        [["4", 0.0], ["5", 0.0], ["3", 0.0]],  # all certain
        [["4", 0.7], ["5", 0.3]],  # probabilities
        [["4", -0.1], ["5", None]],
        [["4", -0.1], ["5", NAN]],
        [["4", 800.0]],
    ],
)
def test_numbers_that_are_no_logarithms_of_probabilities_are_not_weighed(alternatives):
    found = Reading().weigh([["4", alternatives]])
    assert (found.logprobs, found.reason, found.score) == ({}, "no_probabilities", 4)


@pytest.mark.parametrize(
    "logprobs, how, score",
    [
        (
            [*sure("<think>", "No", "</think>"), likely("Yes", ("Yes", 0.8), ("No", 0.2))],
            {"form": "yes_no"},
            0.8,
        ),
        (
            [*sure('{"', "score", '":'), likely(" 4", (" 4", 0.8), (" 5", 0.2)), *sure("}")],
            {"form": "json"},
            4.2,
        ),
        (
            [likely("B", ("B", 0.8), ("A", 0.2))],
            {"form": "choice", "options": {"good": 5, "bad": 1}},
            1.8,
        ),
        (
            [*sure("评分", "："), likely("4", ("4", 0.8), ("5", 0.2)), *sure("分")],
            {"pattern": r"评分：(\d)分"},
            4.2,
        ),
    ],
)
def test_other_forms_and_patterns(logprobs, how, score):
    assert expected_score(logprobs, **how)[0] == pytest.approx(score)


FOUR = [likely("4", ("4", 0.2), ("2", 0.1), ("The", 0.7))]  # (4 * 0.2 + 2 * 0.1) / 0.3


def test_scores_mass_and_reasons_of_replies():
    split = [likely("9", ("9", 0.7), ("1", 0.3))]
    replies = [
        Reply("a", "fluency", 0, "4", "", FOUR),
        Reply("a", "fluency", 1, "4", "", []),
        Reply("b", "fluency", 0, "9", "", split),
        Reply("c", "fluency", 0, "It is good.", "", sure("It", " is", " good.")),
        Reply("d", "fluency", 0, "5", "", FOUR),  # the tokens give another rating than the text
    ]
    with pytest.warns(UserWarning, match="fluency: only 30% of the token probability"):
        found = responses(replies, scale=(0, 10))
    assert found["score"].tolist() == pytest.approx([10 / 3, 4, NAN, NAN, NAN], nan_ok=True)
    assert found["reason"].tolist() == ["", "", "split_rating", "no_rating", "tokens_differ"]
    assert found["mass"].tolist() == pytest.approx([0.3, NAN, NAN, NAN, NAN], nan_ok=True)
    assert item_scores(found)["mass"].tolist() == pytest.approx([0.3, NAN, NAN, NAN], nan_ok=True)


def test_no_warning_where_most_of_the_mass_is_on_ratings(recwarn):
    tokens = [likely("4", ("4", 0.5), ("5", 0.25), ("The", 0.25))]
    assert responses([Reply("a", "fluency", 0, "4", "", tokens)])["mass"].tolist() == [0.75]
    assert not recwarn.list


def test_distributions_have_a_column_for_each_rating():
    replies = pd.DataFrame(
        {
            "item_id": ["a", "b"],
            "aspect": "fluency",
            "sample_index": 0,
            "logprobs": [FOUR, sure("no")],
        }
    )
    found = distributions(replies, (1, 5))
    assert found.loc["a"].to_numpy()[0] == pytest.approx([0, 1 / 3, 0, 2 / 3, 0, 0.7])
    assert found.loc["b"].isna().to_numpy().tolist() == [[True] * 5 + [False]]
