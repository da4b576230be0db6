"""A Closer Look (Chiang and Lee 2023): the printed cells from the released replies."""

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data.recordings import available, recording_spec
from nlgjudge.ledger.printed import published

DIALOGUE = ["naturalness", "coherence", "engagingness", "groundedness"]
RECORDED = nj.paper("closer_look").recorded["topical_chat"]
# What upstream's two scripts count a reply without a rating as.
POLICIES = {"all_eval.py": "first_digit_or_0", "meta_eval_summeval.py": "first_digit"}
SCRIPT = POLICIES["meta_eval_summeval.py"]


@pytest.fixture(scope="module")
def chats():
    if not available(*RECORDED.values()):
        pytest.skip("needs the replies of A Closer Look on Topical-Chat: the mirror or a network")
    loaded = nj.load("topical_chat")
    if loaded.is_sample:
        pytest.skip("needs Topical-Chat: the mirror or a network")
    return loaded


@pytest.fixture
def own_checkout():
    """The printed tables are read from the repository itself."""


def scored(chats, rows, policy):
    """The mean rating of each response in a column for each row and aspect, and unread replies by row."""
    means = []
    unread = {}
    for row in rows:
        name = RECORDED[row]
        replies = nj.recording(name, chats.items)
        read = nj.judging.responses(replies, scale=recording_spec(name).scales, policy=policy)
        means.append(nj.item_scores({row: read}).set_index("item_id"))
        unread[row] = int((read["reason"] != "").sum())
    return chats.with_scores(pd.concat(means, axis=1).reset_index()), unread


def values(scores, rows):
    """Every coefficient at every level, by row."""
    found = nj.agreement(
        scores, rows, DIALOGUE, levels=("dataset", "sample"), coefficients=("pearson", "kendall")
    )
    return found.set_index(["judge", "aspect", "level", "coefficient"])["ours"]


def exact(ours, artefact, row, printed_row, levels):
    """Cells of a printed row that a row's replies give to the last digit; Pearson and Kendall at their levels."""
    table = published("closer_look", artefact)
    cells = table[table["row"] == printed_row]
    values = [
        ours[row, cell.aspect, levels[cell.coefficient], cell.coefficient]
        for cell in cells.itertuples()
    ]
    return int((np.abs(np.array(values) - cells["value"].to_numpy()) <= 0.0005 + 1e-9).sum())


def test_printed_rows_from_the_released_replies(chats):
    """Tables 2 and 4, as labelled; and which replies three rows of Tables 2 and 3 really print."""
    rows = ["auto CoT, score only", "score only (3.1)", "rate-explain", "analyze-rate"]
    scores, unread = scored(chats, rows, SCRIPT)
    scores = values(scores, rows)
    over_all = {"pearson": "dataset", "kendall": "sample"}
    within = {"pearson": "sample", "kendall": "sample"}
    for row in ("auto CoT, score only", "score only (3.1)"):
        assert (
            exact(scores, "table2", row, row, over_all)
            == exact(scores, "table4", row, row, within)
            == 8
        )
    for row in ("rate-explain", "analyze-rate"):
        assert exact(scores, "table4", row, row, within) == 8
    assert exact(scores, "table2", "rate-explain", "rate-explain", over_all) == 0
    for artefact, printed, row, levels in [
        ("table2", "rate-explain", "analyze-rate", over_all),
        ("table2", "analyze-rate", "analyze-rate", within),
        ("table3", "rate-explain", "analyze-rate", over_all),
        ("table3", "score only", "auto CoT, score only", over_all),
    ]:
        assert exact(scores, artefact, row, printed, levels) == 8, (artefact, printed)
    assert unread["analyze-rate"] == 88


WITHIN = {"pearson": "sample", "kendall": "sample"}
OVER_ALL = {"pearson": "dataset", "kendall": "sample"}


@pytest.mark.parametrize(
    "row, script, expected",
    [
        ("free text", "meta_eval_summeval.py", {"table2": 8, "table4": 8}),
        ("free text", "all_eval.py", {"table2": 5, "table4": 4}),
        ("auto CoT, rate-explain", "meta_eval_summeval.py", {"table3": 5}),
        ("auto CoT, rate-explain", "all_eval.py", {"table3": 8}),
    ],
)
def test_two_rows_follow_from_two_scripts(chats, row, script, expected):
    scores, _ = scored(chats, [row], POLICIES[script])
    found = values(scores, [row])
    levels = {"table2": OVER_ALL, "table3": OVER_ALL, "table4": WITHIN}
    assert {table: exact(found, table, row, row, levels[table]) for table in expected} == expected


def test_the_other_script_misses_what_unread_replies_decide(chats):
    scores, _ = scored(chats, ["score only (3.1)"], POLICIES["all_eval.py"])
    assert (
        exact(
            values(scores, ["score only (3.1)"]),
            "table4",
            "score only (3.1)",
            "score only (3.1)",
            {"pearson": "sample", "kendall": "sample"},
        )
        == 6
    )
