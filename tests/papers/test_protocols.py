"""The papers' protocols: every printed row of a model has one, and its prompt can be had."""

import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.ledger.printed import KEY
from nlgjudge.notebook import rerun_requests
from nlgjudge.papers import folders

PAPERS = {version: paper for paper in rerun_requests.PAPERS.values() for version in paper.versions}
# Beginnings of the names of models' rows, where metrics have rows too.
MODELS = {
    "geval": ("G-EVAL",),
    "chatgpt": ("ChatGPT",),
    "coascore": ("LLMScore", "CoAScore"),
    "closer_look": ("",),
}


def is_asked(version, row):
    """Whether a printed row is of a model that the paper's authors asked."""
    paper = nj.paper(version)
    return row.startswith(MODELS.get(paper.key, ())) and row not in paper.copied


@pytest.fixture
def own_checkout():
    """The printed tables are read from the repository itself."""


@pytest.mark.parametrize("version", PAPERS)
def test_every_printed_row_of_a_model_has_a_complete_protocol(version):
    cells, rows = nj.published(), nj.paper(version).rows
    for artefact, table in cells[cells["paper"] == version].groupby("artefact"):
        of_models = {row for row in table["row"] if is_asked(version, row)}
        listed = {key for key, row in rows.items() if artefact in row.artefacts}
        # The simple prompt was added between the two printed versions.
        added = {"G-EVAL-4 - Description"} if version == "geval_v1" else set()
        assert of_models <= listed and listed - added <= set(table["row"])
    for row in rows.values():
        assert row.source and row.samples >= 1
        assert None not in (row.parameters | dict(row.estimate[1:])).values()


@pytest.mark.parametrize("paper", rerun_requests.PAPERS)
def test_every_prompt_of_every_row_can_be_had(paper):
    """Each names the aspect that it asks for, and only what an item can fill or a chain fills in."""
    seen = set()
    fields = {"source", "hypothesis", "reference", "context", "scores", "aspects", "other"}
    # Of LLMBar's steps.
    fields |= {"metrics", "generated_reference", "reasons_for_a", "reasons_for_b"}
    for part in rerun_requests.parts_of(paper, rerun_requests.tables_of(paper)):
        for aspect, prompt in part.prompts.items():
            assert prompt.aspect.replace(" ", "_") == part.aspects[aspect][0]
            assert set(prompt.slots.values()) - set(prompt.constants) <= fields
            seen.add(part.row.row)
    of_figures = {row.row for row in nj.paper("dhp").rows.values() if "figure4" in row.artefacts}
    assert seen == set(PAPERS[paper].rows) - of_figures


def test_every_printed_cell_of_a_model_belongs_to_a_row_on_a_dataset():
    """Averages over aspects or datasets follow from the others."""
    covered = []
    for version, paper in PAPERS.items():
        if paper.key == "dhp":
            continue  # its figures print no numbers
        for artefact in rerun_requests.tables_of(paper.key):
            for part in rerun_requests.parts_of(paper.key, artefact):
                cells = nj.published(version, artefact)
                at = (cells["row"] == part.row.row) & (cells["dataset"] == part.scope.dataset)
                cells = cells[at & cells["aspect"].isin(part.scope.aspects_of(part.row.row))]
                keys = cells[KEY].itertuples(index=False)
                covered += [(version, artefact, *key) for key in keys if paper.key in MODELS]
    assert len(covered) == len(set(covered))
    printed = nj.published()
    asked = [is_asked(*pair) for pair in zip(printed["paper"], printed["row"])]
    own = printed[pd.Series(asked, printed.index) & (printed["aspect"] != "AVG")]
    # The ChatGPT study, section 4.5: no informativeness without a reference; the table has a dash.
    of_bagel = (own["paper"] == "chatgpt") & (own["artefact"] == "table7")
    dash = of_bagel & (own["aspect"] == "informativeness") & own["row"].str.contains("w/o")
    assert (own.loc[dash, "printed"] == "").all() and dash.sum() == 6
    keys = own.loc[~dash, ["paper", "artefact", *KEY]].itertuples(index=False, name=None)
    assert {*keys} == set(covered)


def test_settings_as_printed():
    """G-Eval 3.1; DHP, appendix D; CoAScore 4.3; the ChatGPT study, limitation 3; A Closer Look, appendices C, D."""
    geval = nj.paper("geval").rows
    assert geval["G-EVAL-4"].samples == 20
    assert geval["G-EVAL-4"].parameters == {"temperature": 1, "top_p": 1}
    assert geval["G-EVAL-3.5"].parameters == {"temperature": 0, "logprobs": True}
    assert geval["G-EVAL-3.5"].estimate == (20, {"temperature": 1, "top_p": 1})
    dhp = nj.paper("dhp").rows.values()
    assert [(row.samples, row.parameters) for row in dhp] == [
        (5, {"temperature": 0})
    ] * 13  # and any model
    assert nj.paper("coascore").rows["CoAScore(n=20)"].aspects == 20
    closer_look = nj.paper("closer_look").rows
    few = closer_look["T = 0.3, rate-explain"]
    assert (few.samples, few.parameters) == (5, {"temperature": 0.3, "top_p": 1})
    assert closer_look["rate-explain"].samples == 20
    stars = nj.paper("chatgpt").rows["ChatGPT (Stars w/ ref)"]
    assert stars.sampling == {"temperature": None} and stars.parameters == {"temperature": 0}


ROW = """
[[rows]]
row = "Judge"
artefacts = ["table1"]
model = "m"
prompt = "new/{task}/{aspect}"
samples = 5
scoring = "mean"
source = "section 2"
"""


@pytest.fixture
def new_paper(tmp_path, monkeypatch):
    """Returns a function that reads the text of a new paper's file."""
    monkeypatch.setattr(folders, "FOLDER", tmp_path)
    (tmp_path / "new").mkdir()

    def read(text):
        (tmp_path / "new" / "paper.toml").write_text(text, encoding="utf-8")
        folders.papers.cache_clear()
        return folders.papers()["new"]

    yield read
    folders.papers.cache_clear()


def test_a_title_is_all_that_a_paper_needs(new_paper):
    paper = new_paper('title = "New"')
    assert nj.papers.titles() == {"new": "New"} and not paper.rows
    with pytest.raises(ValueError, match="no published paper 'old'"):
        nj.paper("old")


def test_what_every_row_has_is_written_once_and_a_row_may_differ(new_paper):
    every = '[every_row]\nnote = "all"\nsent = {temperature = 0}\n'
    rows = new_paper(every + ROW + ROW.replace("Judge", "Other") + 'note = "own"\n').rows
    assert [row.note for row in rows.values()] == ["all", "own"]
    assert rows["Judge"].sampling == {"temperature": None}
    assert rows["Judge"].parameters == {"temperature": 0}


@pytest.mark.parametrize(
    "text, message",
    [
        (ROW + "x = [1", "papers/new/paper.toml: "),
        (ROW + "modle = 1", "paper.toml, rows 1 'modle': did you mean 'model'"),
        (ROW.replace("samples = 5", ""), "papers/new/paper.toml, rows 1 lacks samples"),
        (ROW.replace("5", '"5"'), "paper.toml, rows 1: samples: expected int, got '5'"),
        (ROW.replace('"mean"', '"means"'), "rows 1: scoring 'means': did you mean 'mean'"),
        ("[artefacts.table1]\nwhat = 'x'", "artefacts table1 lacks notebook"),
        ("titel = 'x'", "no key of papers/new/paper.toml 'titel': did you mean 'title'"),
    ],
)
def test_a_mistake_names_file_entry_and_key(new_paper, text, message):
    with pytest.raises(ValueError, match=message):
        new_paper(text)
