"""The papers' protocols: every printed row of a model has one, and its prompt can be had."""

import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.ledger import rerun_requests
from nlgjudge.ledger.printed import KEY
from nlgjudge.papers import modules
from nlgjudge.papers.protocol import SCORING, rows

PAPERS = {
    version: module for module in rerun_requests.PAPERS.values() for version in module.VERSIONS
}
MODELS = (
    "G-EVAL",
    "ChatGPT",
    "LLMScore",
    "CoAScore",
)  # beginnings of models' rows where metrics have rows too


def is_asked(paper, row):
    """Whether a printed row is of a model that the paper's authors asked."""
    module = PAPERS.get(paper)
    if module is None:
        return False
    if module.__package__.rpartition(".")[2] in ("geval", "chatgpt", "coascore"):
        return row.startswith(MODELS)
    return row not in getattr(module, "COPIED", ())


@pytest.fixture
def own_checkout():
    """The printed tables are read from the repository itself."""


@pytest.mark.parametrize("paper", PAPERS)
def test_every_printed_row_of_a_model_has_a_protocol(paper):
    cells = nj.ledger.all_published()
    cells = cells[cells["paper"] == paper]
    for artefact, table in cells.groupby("artefact"):
        printed = {row for row in table["row"] if is_asked(paper, row)}
        assert printed, artefact
        known = set(rows(PAPERS[paper].PROTOCOLS, artefact))
        # The simple prompt was added between the two printed versions.
        assert known - printed <= ({"G-EVAL-4 - Description"} if paper == "geval_v1" else set())
        assert printed <= known


def test_each_protocol_is_complete():
    for paper in modules().values():
        for one in paper.PROTOCOLS:
            assert one.scoring in SCORING and one.source and one.samples >= 1
            assert None not in one.parameters.values()
            assert None not in (one.parameters | dict(one.estimate[1:])).values()


@pytest.mark.parametrize("paper", rerun_requests.PAPERS)
def test_every_prompt_of_every_row_can_be_had(paper):
    """Each names the aspect that it asks for, and only what an item can fill or a chain fills in."""
    seen = set()
    for artefact in rerun_requests.tables_of(paper):
        for part in rerun_requests.parts_of(paper, artefact):
            for aspect, found in part.prompts.items():
                assert found.aspect == part.aspects[aspect][0]
                to_be_filled = set(found.slots.values()) - set(found.constants)
                assert to_be_filled <= {
                    "source",
                    "hypothesis",
                    "reference",
                    "context",
                    "scores",
                    "aspects",
                }
                seen.add(part.row.row)
    assert seen == {row.row for row in PAPERS[paper].PROTOCOLS}


def test_every_printed_cell_of_a_model_belongs_to_a_row_on_a_dataset():
    """Averages over aspects or datasets follow from the others."""
    covered = []
    for paper in rerun_requests.PAPERS:
        for version in rerun_requests.PAPERS[paper].VERSIONS:
            for artefact in rerun_requests.tables_of(paper):
                for part in rerun_requests.parts_of(paper, artefact):
                    cells = nj.published(version, artefact)
                    cells = cells[
                        (cells["row"] == part.row.row) & (cells["dataset"] == part.scope.dataset)
                    ]
                    cells = cells[cells["aspect"].isin(part.scope.aspects_of(part.row.row))]
                    covered += [
                        (version, artefact, *key) for key in cells[KEY].itertuples(index=False)
                    ]
    assert len(covered) == len(set(covered))
    printed = nj.ledger.all_published()
    asked = [is_asked(*pair) for pair in zip(printed["paper"], printed["row"])]
    own = printed[pd.Series(asked, printed.index) & (printed["aspect"] != "AVG")]
    # The ChatGPT study, section 4.5: no informativeness without a reference; the table has a dash.
    of_table = (
        (own["paper"] == "chatgpt")
        & (own["artefact"] == "table7")
        & (own["aspect"] == "informativeness")
    )
    dash = of_table & own["row"].str.contains("w/o")
    assert (own.loc[dash, "printed"] == "").all() and dash.sum() == 6
    own = own[~dash]
    assert {*own[["paper", "artefact", *KEY]].itertuples(index=False, name=None)} == {
        (version, artefact, *key) for version, artefact, *key in covered
    }


def test_settings_as_printed():
    """G-Eval 3.1; DHP, appendix D; CoAScore 4.3; the ChatGPT study, limitation 3; A Closer Look, appendices C, D."""
    geval = rows(nj.geval.protocols.PROTOCOLS, "table1")
    assert geval["G-EVAL-4"].samples == 20
    assert geval["G-EVAL-4"].parameters == {"temperature": 1, "top_p": 1}
    assert geval["G-EVAL-3.5"].parameters == {"temperature": 0, "logprobs": True}
    assert len(nj.dhp.protocols.PROTOCOLS) == 12
    assert {(one.samples, one.parameters["temperature"]) for one in nj.dhp.protocols.PROTOCOLS} == {
        (5, 0)
    }
    assert rows(nj.coascore.protocols.PROTOCOLS)["CoAScore(n=20)"].aspects == 20
    few = rows(nj.closer_look.protocols.PROTOCOLS)["T = 0.3, rate-explain"]
    assert (few.samples, few.parameters) == (5, {"temperature": 0.3, "top_p": 1})
    assert rows(nj.closer_look.protocols.PROTOCOLS)["rate-explain"].samples == 20
    stars = rows(nj.chatgpt.protocols.PROTOCOLS, "table6")["ChatGPT (Stars w/ ref)"]
    assert stars.sampling == {"temperature": None} and stars.parameters == {"temperature": 0}


def test_a_table_without_a_model_is_an_error():
    with pytest.raises(
        KeyError, match="no model's row is printed in 'table9'; there are table1, table2, table3"
    ):
        rows(nj.geval.protocols.PROTOCOLS, "table9")
