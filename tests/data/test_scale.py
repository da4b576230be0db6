"""What values an aspect can take, from a file's cell to the report's sentence."""

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data.scale import scale_of
from nlgjudge.stats.categories import swapped

N = 24
WON = [i % 2 for i in range(N)]


def table(**columns):
    texts = {"source": [f"q{i}" for i in range(N)], "hypothesis": [f"a{i}" for i in range(N)]}
    return pd.DataFrame(texts | columns)


def aspect(frame, name="x", **options):
    return nj.report(nj.data.own_data(frame, **options), lexical=False, permutations=99).aspects[
        name
    ]


VOCABULARIES = """incorrect correct, bad good, FALSE TRUE, FAIL PASS, no yes, N Y, unsafe safe, irrelevant relevant,
hallucinated faithful, thumbs_down thumbs_up, 👎 👍, ❌ ✅, low medium high, INCORRECT PARTIAL CORRECT, I P C"""


@pytest.mark.parametrize("words", [line.split() for line in VOCABULARIES.split(",")])
def test_known_words_are_read_from_low_to_high(words):
    said = [words[i % len(words)] for i in range(N)]
    mine = nj.data.own_data(table(**{"human:x": said, "judge:j": said}))
    steps = np.linspace(0, 1, len(words)).tolist()
    assert mine.human()["x"].tolist() == [steps[i % len(words)] for i in range(N)]
    assert aspect(table(**{"human:x": said, "judge:j": said})).table["value"].item() == 1


def test_other_words_are_declared_or_refused():
    said = table(
        **{
            "human:x": ["REFUSED", "NONE", "PARTIAL", "FULL"] * 6,
            "judge:j": ["FULL", "NONE", "PARTIAL", "FULL"] * 6,
        }
    )
    with pytest.raises(ValueError, match="labels=.*from the lowest to the highest"):
        nj.data.own_data(said)
    one = aspect(said, labels={"x": ["refused", "none", "partial", "full"]})
    assert one.table["value"].item() == pytest.approx(
        0.1
    )  # quadratic kappa by hand: 1 - 2.25 / 2.5
    assert one.table["accuracy"].item().startswith("0.75")
    unordered = aspect(said, labels={"x": {"refused", "none", "partial", "full"}})
    assert "quadratic kappa" not in unordered.table


def test_a_majority_is_no_mean():
    votes = pd.DataFrame({"item_id": list("aaabbc"), "score": [1, 0, 1, 1, 0, np.nan]})
    assert scale_of(["no", "yes"]).combine(votes, ["item_id"]).fillna(-1).tolist() == [1, -1, -1]
    assert scale_of((0, 1)).combine(votes, ["item_id"]).fillna(-1).tolist() == [
        pytest.approx(2 / 3),
        0.5,
        -1,
    ]
    assert scale_of((0, 1)).combine(votes, ["item_id"], "median")["a"] == 1


@pytest.mark.parametrize("judge", ["judge:j", "judge:j:x"])
@pytest.mark.parametrize("said", [["no", "yes"], ["yes", "yes"]])
def test_turning_changes_no_agreement(judge, said):
    frame = table(**{"human:x": ["no", "yes"] * 12, judge: said * 12})
    plain, turned = aspect(frame), aspect(frame, reverse=["x"])
    assert plain.table["value"].item() == turned.table["value"].item()
    assert "them yes" in plain.answer and "them no" in turned.answer


def test_rows_and_columns_of_both_orders_are_the_same_pairs():
    better = ["A" if won else "B" for won in WON]
    worse = ["B" if won else "A" for won in WON]
    pairs = table(
        **{"other": [f"longer b{i}" for i in range(N)], "human:x": better, "judge:j": "A"}
    )
    swapped_rows = pairs.rename(columns={"hypothesis": "other", "other": "hypothesis"})
    swapped_rows["human:x"] = worse
    rows = nj.data.own_data(pd.concat([pairs, swapped_rows]))
    columns = nj.data.own_data(pairs.assign(**{"judge:j/2": "A"}))
    for mine in (rows, columns):
        assert len(mine.items) == 2 * N and mine.released()["j"].tolist() == [1] * 2 * N
        assert mine.human()["x"].tolist() == [one for won in WON for one in (won, 1 - won)]
        notes = " ".join(nj.report(mine, lexical=False).aspects["x"].notes)
        assert "the text shown first in 1.00" in notes and "the longer text in 0.50" in notes


def test_two_judges_are_tested_on_the_same_outputs():
    """Of 24 outputs j is right on 20 and k on 14 of these: 6 changes in one direction, 2 / 2**6."""
    human = ["pass", "fail"] * 12
    wrong = ["fail", "pass"] * 12
    j, k = human[:20] + wrong[20:], human[:14] + wrong[14:]
    one = aspect(table(**{"human:x": human, "judge:j": j, "judge:k": k}))
    assert one.table.loc["k", "p"] == 2 / 2**6 == swapped([1] * 6 + [0] * 18)
    assert one.answer.startswith("j comes first")
    few = aspect(table(**{"human:x": human, "judge:j": j, "judge:k": ["pass"] * 9 + [""] * 15}))
    assert list(few.table.index) == ["j"] and any("9 of 24" in note for note in few.notes)


def test_scales_go_to_datasets_and_back():
    mine = nj.data.own_data(
        table(**{"human:x:a": ["bad", "good"] * 12, "human:x:b": "good", "judge:j": "bad"})
    )
    again = nj.data.own_data(mine.datasets())
    assert again.scales == mine.scales and again.human()["x"].equals(mine.human()["x"])
