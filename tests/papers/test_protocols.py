"""The papers' protocols: every printed row of a model has one, and its prompt can be had."""

import pytest

import nlgjudge as nj
from nlgjudge.judging.prompts import names
from nlgjudge.papers.protocol import SCORING, rows

PAPERS = {"geval": nj.geval, "geval_v1": nj.geval, "chatgpt": nj.chatgpt, "coascore": nj.coascore}
MODELS = ("G-EVAL", "ChatGPT", "LLMScore", "CoAScore")


@pytest.fixture
def own_checkout():
    """The printed tables are read from the repository itself."""


@pytest.mark.parametrize("paper", PAPERS)
def test_every_printed_row_of_a_model_has_a_protocol(paper):
    cells = nj.ledger.all_published()
    cells = cells[cells["paper"] == paper]
    for artefact, table in cells.groupby("artefact"):
        printed = {row for row in table["row"] if row.startswith(MODELS)}
        assert printed, artefact
        known = set(rows(PAPERS[paper].PROTOCOLS, artefact))
        # The simple prompt was added between the two printed versions.
        assert known - printed <= ({"G-EVAL-4 - Description"} if paper == "geval_v1" else set())
        assert printed <= known


def test_each_protocol_is_complete():
    for paper in (nj.geval, nj.chatgpt, nj.dhp, nj.coascore):
        for one in paper.PROTOCOLS:
            assert one.scoring in SCORING and one.source and one.samples >= 1
            assert None not in one.parameters.values()
            assert one.prompt or "not printed" in one.note
            stem = one.prompt.split("{")[0]
            assert any(name.startswith(stem) for name in names())


def test_settings_as_printed():
    """G-Eval, section 3.1; DHP, appendix D; CoAScore, section 4.3; the ChatGPT study, limitation 3."""
    geval = rows(nj.geval.PROTOCOLS, "table1")
    assert geval["G-EVAL-4"].samples == 20
    assert geval["G-EVAL-4"].parameters == {"temperature": 1, "top_p": 1}
    assert geval["G-EVAL-3.5"].parameters == {"temperature": 0, "logprobs": True}
    assert len(nj.dhp.PROTOCOLS) == 12
    assert {(one.samples, one.parameters["temperature"]) for one in nj.dhp.PROTOCOLS} == {(5, 0)}
    assert rows(nj.coascore.PROTOCOLS)["CoAScore(n=20)"].aspects == 20
    stars = rows(nj.chatgpt.PROTOCOLS, "table6")["ChatGPT (Stars w/ ref)"]
    assert stars.sampling == {"temperature": None} and stars.parameters == {"temperature": 0}


def test_a_table_without_a_model_is_an_error():
    with pytest.raises(KeyError, match="no model's row is printed in 'table9'; there are table1, table2, table3"):
        rows(nj.geval.PROTOCOLS, "table9")
