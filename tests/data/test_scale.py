"""What values an aspect can take, from a file's cell to the report's sentence."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from datasets import ClassLabel, Dataset, Features, Value
from scipy.stats import multinomial

import nlgjudge as nj
from nlgjudge.data.scale import scale_of
from nlgjudge.stats.categories import category_agreement, swapped

N = 24
WON = [i % 2 for i in range(N)]


def table(**columns):
    texts = {"source": [f"q{i}" for i in range(N)], "hypothesis": [f"a{i}" for i in range(N)]}
    return pd.DataFrame(texts | columns)


def aspect(frame, name="x", **options):
    return nj.report(nj.data.own_data(frame, **options), lexical=False, permutations=999).aspects[
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


@pytest.mark.parametrize(
    "human, judge, options, said",
    [
        (["REFUSED", "NONE", "PARTIAL", "FULL"], [""], {}, "labels=.*NONE.*from the lowest"),
        (["A", "B", "C"], ["A"], {}, "'C' is none of B, tie, A"),
        (["P", "N", "C"], ["P"], {}, "'P' is not a number"),
        (["pass", "none"], ["pass"], {}, "'none' is none of fail, pass"),
        (["yes", "no"], ["unsafe", "safe"], {}, r"'unsafe' is none of no, yes.*'no\|…'"),
        (["pass", "fail"], ["True", "False"], {}, r"labels=.*'fail\|…', 'pass\|…'"),
        (["hallucinated", "faithful"], ["yes", "no"], {}, "'yes' is none of hallucinated"),
        (["1", "2", "3", "0"], ["1"], {"x": ["1", "2", "3"]}, "'0' is none of 1, 2, 3"),
        (["1", "5", "99"], ["1"], {"x": (1, 5)}, "'99' is not a number from 1 to 5"),
        (["cat", "2"], ["cat"], {"x": {"cat", "dog"}}, "'2' is none of cat, dog"),
        (["pass"] * 11 + ["unclear"], [""], {}, r"'unclear' is none of fail, pass \(2 of 24"),
    ],
)
def test_what_is_neither_known_nor_declared_is_refused(human, judge, options, said):
    frame = table(**{"human:x": human * (N // len(human)), "judge:j": judge * (N // len(judge))})
    with pytest.raises(ValueError, match=said):
        nj.data.own_data(frame, labels=options)


def test_labels_in_order_are_ranked_by_quadratic_kappa():
    said = table(
        **{
            "human:x": ["REFUSED", "NONE", "PARTIAL", "FULL"] * 6,
            "judge:j": ["FULL", "NONE", "PARTIAL", "FULL"] * 6,
            "judge:k": ["NONE", "NONE", "PARTIAL", "FULL"] * 6,
        }
    )
    one = aspect(said, labels={"x": ["refused", "none", "partial", "full"]})
    # by hand: 1 - 0.25 / 2, and 1 - 2.25 / 2.5
    assert one.table["value"].to_dict() == pytest.approx({"k": 0.875, "j": 0.1})
    assert one.table["accuracy"].str[:4].tolist() == ["0.75", "0.75"]
    assert "k comes first" in one.answer and "quadratic kappa" in one.paper
    assert one.table.loc["j", "p"] < 0.05
    unordered = aspect(said, labels={"x": {"unordered": ["refused", "none", "partial", "full"]}})
    assert unordered.table["value"].tolist() == [0.75, 0.75]
    assert "cannot name a best method" in unordered.answer and "quadratic" not in unordered.paper


def test_a_judges_word_that_nobody_uses_is_unread_up_to_one_in_twenty():
    human = ["pass", "fail"] * 12
    for n, is_read in ((1, True), (2, False)):
        frame = table(**{"human:x": human, "judge:j": ["maybe"] * n + human[n:]})
        if is_read:
            mine = nj.data.own_data(frame)
            assert mine.with_scores(mine.released())["j"].tolist()[1:] == [0, 1] * 11 + [0]
            assert any("'maybe' unread, 1 of 24" in note for note in mine.notes)
        else:
            with pytest.raises(ValueError, match="'maybe' is none of fail, pass \\(2 of 24"):
                nj.data.own_data(frame)
            assert aspect(frame, labels={"x": ["fail", "maybe", "pass"]}).table["n"].item() == N


def test_numbers_of_a_class_label_are_its_names():
    names = ["pass", "fail"]
    features = Features({"human:x": ClassLabel(names=names), "judge:j": Value("int64")})
    data = Dataset.from_dict({"human:x": WON, "judge:j": WON}, features=features)
    mine = nj.data.own_data(data)
    assert mine.with_scores(mine.released())["j"].equals(mine.human()["x"])
    with pytest.raises(ValueError, match="numbers may be codes"):
        nj.report(mine, mine.items[["item_id"]].assign(mine=WON), lexical=False)


def test_labels_without_an_order_have_no_better_one():
    frame = table(**{"human:x": ["cat", "dog", "fish"] * 8, "system": "s"})
    mine = nj.data.own_data(frame, labels={"x": {"cat", "dog", "fish"}})
    for wrong in (lambda: nj.data.pairs(mine), lambda: nj.ablation(mine, {}, {"samples": 2})):
        with pytest.raises(ValueError, match="no order"):
            wrong()


def test_of_a_jurys_numbers_the_mean_counts_and_of_labels_the_majority():
    votes = pd.DataFrame({"item_id": list("aaabbc"), "score": [1, 0, 1, 1, 0, np.nan]})
    replies = votes.assign(aspect="x", judge=list("pqrpqp"), sample_index=0)
    means = nj.item_scores(replies)["score"].fillna(-1)
    assert means.tolist() == pytest.approx([2 / 3, 0.5, -1])
    labels = nj.item_scores(replies, scales={"x": scale_of(["no", "yes"])})["score"]
    assert labels.fillna(-1).tolist() == [1, -1, -1]


def test_agreement_needs_no_texts():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"doc_id": np.repeat(range(8), 3), "system": [*"abc"] * 8})
    frame = frame.assign(
        **{"human:x": rng.integers(1, 6, 24), "judge:j": rng.integers(1, 6, 24), "order": 1}
    )
    one = nj.report(nj.data.own_data(frame), permutations=9).aspects["x"]
    assert list(one.table.index) == ["j"] and one.table["n"].item() <= 8


def test_the_good_end_turns_no_agreement_and_is_named():
    frame = table(**{"human:x": ["no", "yes"] * 12, "judge:j": ["yes", "yes"] * 12})
    plain, turned = aspect(frame), aspect(frame, reverse=["x"])
    assert plain.table["value"].item() == turned.table["value"].item() == 0.5
    assert "them yes" in plain.answer and "them no" in turned.answer
    graded = table(**{"human:x": range(N), "doc_id": "d", "system": range(N), "source": "q"})
    chosen = [
        nj.data.pairs(nj.data.own_data(graded, **how), per_document=3).human()["x"]
        for how in ({}, {"reverse": ["x"]})
    ]
    assert (chosen[0] + chosen[1]).eq(1).all()


def test_rows_of_one_pair_are_known_by_their_texts():
    """With the system of the text shown first, as both orders are often written."""
    pairs = table(**{"other": [f"b{i}" for i in range(N)], "human:x": "A", "judge:j": "A"})
    turned = pairs.rename(columns={"hypothesis": "other", "other": "hypothesis"})
    turned = turned.assign(**{"human:x": "B"})
    both = pd.concat([pairs.assign(system="k"), turned.assign(system="l")])
    mine = nj.data.own_data(both)
    assert len(mine.items) == 2 * N and mine.human()["x"].tolist() == [1, 0] * N
    assert "people prefer A in 100% of 24 pairs" in aspect(both).answer
    names = pairs.assign(**{"judge:j": "model_a", "judge:j/2": "model_a"})
    assert nj.data.own_data(names).released()["j"].tolist() == [1, 0] * N
    with pytest.raises(ValueError, match="shown first"):
        nj.data.own_data(names.assign(**{"judge:j/2": "k"}), labels={"x": {"k": "A", "l": "B"}})


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


def test_codes_of_preferences_and_replies_of_a_judge_are_compared():
    codes = ["1" if won else "2" for won in WON]
    pairs = table(**{"other": [f"b{i}" for i in range(N)], "human:x": codes})
    with pytest.raises(ValueError, match="labels={'x': {'2': 'A', '1': 'B'}}"):
        nj.data.own_data(pairs)
    mine = nj.data.own_data(pairs, labels={"x": {"1": "A", "2": "B"}})
    better = {f"a{i}" if won else f"b{i}" for i, won in enumerate(WON)}
    prompt = "A: {{hypothesis}}\nB: {{other}}\nWhich is better, A or B?"
    replies = nj.judge_items(
        mine.items, prompt, lambda item: "A" if item.hypothesis in better else "B", aspect="x"
    )
    one = nj.report(mine, {"knows": replies}, lexical=False).aspects["x"]
    assert one.table["value"].item() == 1 and "people prefer A in 50% of 24 pairs" in one.answer


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
    empty = mine.datasets()["scores"]
    assert "scales" in mine.datasets() and len(empty) == N
    assert (
        nj.data.own_data(table(**{"human:x": ["a", "b"] * 12})).datasets()["scores"].num_rows == 0
    )


@pytest.mark.parametrize("kappa, people", [(0.42, 0.9), (0.0, 0.8)])
def test_an_interval_of_kappa_holds_where_it_is_given(kappa, people):
    """All tables of 20 items, each with its probability. Without a limit the first holds in 77%."""
    agree = people**2 + kappa * people * (1 - people)
    each = np.array([agree, people - agree, people - agree, 1 - 2 * people + agree])
    held = given = 0
    for cells in product(range(21), repeat=3):
        if sum(cells) > 20:
            continue
        counts = [*cells, 20 - sum(cells)]
        chance = multinomial.pmf(counts, 20, each)
        if chance < 1e-5:
            continue
        frame = pd.DataFrame(
            {"human": np.repeat([1, 1, 0, 0], counts), "judge": np.repeat([1, 0, 1, 0], counts)}
        )
        frame = frame.assign(doc_id=range(20), system_id="s")
        line = category_agreement(frame, "judge", "human").rates.loc["kappa"]
        given += chance * (line["reason"] == "")
        held += chance * (line["low"] <= kappa <= line["high"])
    assert given > 0.3 and held / given > 0.95
