"""Recorded judges beside the printed rows: what is scored by token probabilities, and what the cells say."""

import pytest

import nlgjudge as nj
<<<<<<< HEAD
=======
from nlgjudge.data import fetch
from nlgjudge.data.paths import root
>>>>>>> count
from nlgjudge.judging import heads
from nlgjudge.ledger.ledger import read
from nlgjudge.papers.recorded_rows import RECORDED_ROWS

JUDGES = ("gpt-4o-mini", "qwen2.5-72b", "deepseek-r1-32b")
WEIGHED = [one for one in RECORDED_ROWS if one.recording.startswith("uncertainty/")]


def test_token_probabilities_stand_beside_the_rows_that_weigh_and_no_others():
    assert [one.judge for one in WEIGHED] == [
        "gpt-4o-mini-weighed",
        "qwen2.5-72b-weighed",
        "deepseek-r1-32b-weighed",
    ]
    for one in WEIGHED:
        assert (
            one.rows == (("geval", "G-EVAL-3.5"), ("geval", "G-EVAL-4"))
            and one.benchmark == "summeval"
        )
        assert "not known to be G-Eval's" in one.note and "Sheng et al. 2025" in one.note


@pytest.fixture(scope="module")
def recorded():
    """Each recorded judge's distributions, read once for all of them."""
    names = {judge: f"uncertainty/{judge}" for judge in JUDGES}
    if not nj.data.available(*names.values()):
        pytest.skip("needs the token probabilities of Sheng et al.")
    return {judge: nj.judging.distributions(nj.recording(name)) for judge, name in names.items()}


@pytest.mark.parametrize("judge", JUDGES)
def test_a_recorded_judges_cells_are_those_of_the_expected_rating(real, recorded, judge):
    summaries = real("summeval")
    found = nj.ledger.replayed(f"{judge}-weighed", resamples=0)
    cells = found.cells[(found.cells["row"] == "G-EVAL-4") & (found.cells["paper"] == "geval")]
    scores = summaries.human()
    values = {}
    for aspect, p in recorded[judge].droplevel("sample_index").groupby(level="aspect"):
        p = p.droplevel("aspect").reindex(scores["item_id"])[[1, 2, 3, 4, 5]]
        scores["judge"] = heads.expected(p, [1, 2, 3, 4, 5])
        for coefficient in ("spearman", "kendall"):
            values[aspect, coefficient] = nj.correlation(
                scores, "judge", aspect, coefficient=coefficient
            ).value
    single = cells[cells["aspect"] != "AVG"].set_index(["aspect", "coefficient"])["ours"].to_dict()
    assert single == pytest.approx(values, abs=1e-9)
    assert set(cells["evidence"]) == {"substitute_judge"}
    unread = {"gpt-4o-mini": 35}.get(
        judge, 0
    )  # no rating was among the alternatives, so there is no score
    assert found.counts["unread"].tolist() == [unread, unread] and found.counts[
        "replies"
    ].tolist() == [6400, 6400]
    # What is committed is what this gives.
    kept = read(root() / "paper_tables" / "reruns" / f"{judge}-weighed.csv")
    kept = kept[
        (kept["row"] == "G-EVAL-4") & (kept["paper"] == "geval") & (kept["aspect"] != "AVG")
    ]
    assert kept.set_index(["aspect", "coefficient"])["ours"].to_dict() == pytest.approx(
        values, abs=1e-5
    )
