"""The ChatGPT study's rows of neural metrics (Wang et al. 2023, section 4.2).

The section says of what kind each model is, and names no weights. SummEval's, NewsRoom's, RealSumm's and BAGEL's
texts come from BARTScore's repository, whose scripts SUM/score.py and D2T/score.py name the weights; the study's own
correlations.py names the columns of SummEval, BAGEL and OpenMEVA.
"""

from nlgjudge.metrics.weights import PARABANK
from nlgjudge.papers.metric_row import MetricRow

_SCRIPT = "neulab/BARTScore, {script}; columns: krystalan/chatgpt_as_nlg_evaluator, correlations.py"
_DETOKENIZED = (
    "upstream joins the tokens by Moses' rules first; the texts are scored as they stand here"
)
_BERT = {"layer": 17}
_FORWARD = {"direction": "source to hypothesis"}
_BACKWARD = {"direction": "hypothesis to reference", "references": "mean"}


def _rows(
    artefacts,
    bertscore,
    bartscore,
    source,
    note="",
    stated="script",
    others=("moverscore", "prism"),
):
    """The neural rows that several tables print: BERTScore, BARTScore with three sets of weights, and others."""
    said = {"source": source, "stated": stated}
    notes = "; ".join(text for text in (note, _DETOKENIZED) if text)
    cnn = "facebook/bart-large-cnn"
    names = {"moverscore": "MoverScore", "prism": "PRISM", "perplexity": "PPL"}
    return (
        MetricRow(
            artefacts,
            "BERTScore",
            "bertscore",
            "roberta-large",
            _BERT | bertscore,
            note=note,
            **said,
        ),
        MetricRow(
            artefacts,
            "BARTScore",
            "bartscore",
            "facebook/bart-large",
            bartscore,
            note=notes,
            **said,
        ),
        MetricRow(artefacts, "BARTScore+CNN", "bartscore", cnn, bartscore, note=notes, **said),
        MetricRow(
            artefacts,
            "BARTScore+CNN+Para",
            "bartscore",
            cnn,
            bartscore | {"parameters": PARABANK},
            note=notes,
            **said,
        ),
        *(MetricRow(artefacts, names[metric], metric, source=source) for metric in others),
    )


METRIC_ROWS = (
    *_rows(
        ("table1", "table4"),
        {"part": "f", "references": "mean"},
        _FORWARD,
        _SCRIPT.format(script="SUM/score.py"),
    ),
    *_rows(
        ("table2", "table5"),
        {"part": "f", "references": "first"},
        _FORWARD,
        "neulab/BARTScore, SUM/score.py",
        "which columns are printed no script says; those of SummEval are taken",
    ),
    *_rows(
        ("table3",),
        {"part": "r", "references": "first"},
        _BACKWARD,
        "neulab/BARTScore, SUM/score.py",
        "which columns are printed no script says; recall is taken, as the table's rows of ROUGE fit",
    ),
    *_rows(
        ("table6",),
        {"part": "r", "references": "first"},
        _FORWARD,
        "correlations.py",
        "the columns are named bertscore-r, bartscore, bartscore_cnn and bartscore_cnn_pa, and neither weights nor "
        "direction are; those of SummEval are taken",
        stated="nobody",
        others=("perplexity",),
    ),
    *_rows(
        ("table7",),
        {"part": "p", "references": "max"},
        {"direction": "reference to hypothesis", "references": "max"},
        _SCRIPT.format(script="D2T/score.py"),
    ),
)
