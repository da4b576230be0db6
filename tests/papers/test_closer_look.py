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
        pytest.skip("needs the mirror or a network: the replies of A Closer Look on Topical-Chat")
    loaded = nj.load("topical_chat")
    if loaded.is_sample:
        pytest.skip("needs the mirror or a network: Topical-Chat")
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


def exact(scores, row, artefact, printed="", pearson="dataset"):
    """Cells of a printed row that a row's replies give to the last digit; Kendall within documents."""
    values = nj.agreement(
        scores, [row], DIALOGUE, levels=("dataset", "sample"), coefficients=("pearson", "kendall")
    )
    ours = values.set_index(["aspect", "level", "coefficient"])["ours"]
    table = published("closer_look", artefact)
    cells = table[table["row"] == (printed or row)]
    level = {"pearson": pearson, "kendall": "sample"}
    computed = [
        ours[cell.aspect, level[cell.coefficient], cell.coefficient] for cell in cells.itertuples()
    ]
    return int((np.abs(np.array(computed) - cells["value"].to_numpy()) <= 0.0005 + 1e-9).sum())


def test_printed_rows_from_the_released_replies(chats):
    """Tables 2 and 4, as labelled; and which replies three rows of Tables 2 and 3 really print."""
    rows = ["auto CoT, score only", "score only (3.1)", "rate-explain", "analyze-rate"]
    scores, unread = scored(chats, rows, SCRIPT)
    for row in rows:
        assert exact(scores, row, "table4", pearson="sample") == 8
    for row in rows[:2]:
        assert exact(scores, row, "table2") == 8
    assert exact(scores, "rate-explain", "table2") == 0
    assert exact(scores, "analyze-rate", "table2", "rate-explain") == 8
    assert exact(scores, "analyze-rate", "table2", pearson="sample") == 8
    assert exact(scores, "analyze-rate", "table3", "rate-explain") == 8
    assert exact(scores, "auto CoT, score only", "table3", "score only") == 8
    assert unread["analyze-rate"] == 88


@pytest.mark.parametrize(
    "row, script, expected",
    [
        ("free text", "meta_eval_summeval.py", {"table2": 8, "table4": 8}),
        ("free text", "all_eval.py", {"table2": 5, "table4": 4}),
        ("auto CoT, rate-explain", "meta_eval_summeval.py", {"table3": 5}),
        ("auto CoT, rate-explain", "all_eval.py", {"table3": 8}),
        ("score only (3.1)", "all_eval.py", {"table4": 6}),
    ],
)
def test_rows_follow_from_one_of_two_scripts(chats, row, script, expected):
    scores, _ = scored(chats, [row], POLICIES[script])
    pearson = {"table4": "sample"}
    for table, number in expected.items():
        assert exact(scores, row, table, pearson=pearson.get(table, "dataset")) == number
