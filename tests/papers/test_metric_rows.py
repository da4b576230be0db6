"""Every printed row of a neural metric has an entry, whose weights and options are known."""

import pytest

import nlgjudge as nj
from nlgjudge.ledger.metric_runs import metric_parts
from nlgjudge.ledger.model_rows import PAPERS, tables_of
from nlgjudge.ledger.printed import KEY
from nlgjudge.metrics import neural, weights
from nlgjudge.papers.metric_row import STATED

# Rows of other kinds: metrics of words, and models that are asked; GPTScore needs a key to a model that is gone.
OTHERS = ("ROUGE", "BLEU", "METEOR", "G-EVAL", "ChatGPT", "LLMScore", "CoAScore", "GPTScore")
ENTRIES = [(paper, row) for paper in PAPERS for row in getattr(PAPERS[paper], "METRIC_ROWS", ())]


@pytest.fixture
def own_checkout():
    """The printed tables are read from the repository itself."""


def test_every_printed_cell_of_a_neural_metric_belongs_to_one_entry():
    covered = []
    with_metrics = [paper for paper in PAPERS if hasattr(PAPERS[paper], "METRIC_ROWS")]
    for paper in with_metrics:
        for version in PAPERS[paper].VERSIONS:
            for artefact in tables_of(paper):
                printed = nj.published(version, artefact)
                for part in metric_parts(paper, [artefact]):
                    own = printed[
                        (printed["row"] == part.row.row)
                        & (printed["dataset"] == part.scope.dataset)
                    ]
                    own = own[own["aspect"].isin(part.scope.aspects)]
                    assert len(own), part.key
                    covered += [
                        (version, artefact, *key) for key in own[KEY].itertuples(index=False)
                    ]
    assert len(covered) == len(set(covered))
    tables = {
        (version, artefact)
        for paper in with_metrics
        for version in PAPERS[paper].VERSIONS
        for artefact in tables_of(paper)
    }
    printed = nj.ledger.all_published()
    printed = printed[[one in tables for one in zip(printed["paper"], printed["artefact"])]]
    own = printed[~printed["row"].str.startswith(OTHERS) & (printed["aspect"] != "AVG")]
    assert {*own[["paper", "artefact", *KEY]].itertuples(index=False, name=None)} == set(covered)


@pytest.mark.parametrize(
    "paper, row", ENTRIES, ids=[f"{paper}-{row.row}-{row.artefacts[0]}" for paper, row in ENTRIES]
)
def test_an_entry_names_known_weights_and_options(paper, row):
    assert row.source and row.stated in STATED
    if row.metric in neural.NOT_HERE:
        assert not row.model and not row.options
        return
    assert row.model in weights.MODELS
    known = {
        "bertscore": {"layer", "part", "references"},
        "bartscore": {"direction", "references", "parameters"},
        "unieval": {"task"},
    }[row.metric]
    assert set(row.options) <= known
    assert row.options.get("references", "first") in ("first", "mean", "max")
    if row.metric == "bertscore":
        assert (
            row.options["part"] in "prf"
            and row.options["layer"] <= weights.MODELS[row.model].layers
        )
    if row.metric == "bartscore":
        assert row.options["direction"] in neural.DIRECTIONS
    if row.metric == "unieval":
        for part in metric_parts(paper, row.artefacts):
            if part.row == row:
                assert all(
                    (row.options["task"], asked) in neural.QUESTIONS
                    for asked, _ in part.scope.aspects.values()
                )


def test_settings_as_printed():
    """CoAScore, section 4.3: bert-base-uncased and F1, bart-base from hypotheses to references."""
    bert, bart = nj.coascore.METRIC_ROWS
    assert (bert.model, bert.options["part"], bert.stated) == ("bert-base-uncased", "f", "paper")
    assert (bart.model, bart.options["direction"]) == (
        "facebook/bart-base",
        "hypothesis to reference",
    )
    # The ChatGPT study's correlations.py: bert_score_f and bart_score_src_hypo of SummEval, bert_score_p of BAGEL.
    rows = {(row.artefacts[0], row.row): row for row in nj.chatgpt.METRIC_ROWS}
    assert rows["table1", "BERTScore"].options == {"layer": 17, "part": "f", "references": "mean"}
    assert rows["table1", "BARTScore"].options == {"direction": "source to hypothesis"}
    assert rows["table7", "BERTScore"].options == {"layer": 17, "part": "p", "references": "max"}
    assert rows["table7", "BARTScore+CNN+Para"].options["direction"] == "reference to hypothesis"
    assert all(row.stated == "nobody" for (table, _), row in rows.items() if table == "table6")
