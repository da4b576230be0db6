"""G-Eval's rows of neural metrics (Liu et al. 2023, section 3.3).

The section describes the metrics and names no weights but UniEval's. What it prints for SummEval equals what
BARTScore's and UniEval's repositories release.
"""

from nlgjudge.metrics.neural import UNIEVAL
from nlgjudge.papers.metric_row import MetricRow

_SUM = "neulab/BARTScore, SUM/score.py"
_DETOKENIZED = (
    "upstream joins the tokens by Moses' rules first; the texts are scored as they stand here"
)
_UNIEVAL = "section 3.3 and maszhongming/UniEval, metric/evaluator.py"
_SPLIT = "sentences end at . ! ? before a blank here; upstream takes NLTK's splitter"
_FORWARD = {"direction": "source to hypothesis"}
_CNN = "facebook/bart-large-cnn"


def _unieval(artefact, task, note=""):
    return MetricRow(
        (artefact,), "UniEval", "unieval", UNIEVAL[task], {"task": task}, "paper", _UNIEVAL, note
    )


METRIC_ROWS = (
    MetricRow(
        ("table1",),
        "BERTScore",
        "bertscore",
        "roberta-large",
        {"layer": 17, "part": "f", "references": "mean"},
        "script",
        _SUM,
    ),
    MetricRow(("table1",), "MOVERSscore", "moverscore", source="section 3.3"),
    MetricRow(("table1",), "BARTScore", "bartscore", _CNN, _FORWARD, "script", _SUM, _DETOKENIZED),
    _unieval("table1", "summarization", _SPLIT),
    MetricRow(
        ("table2",),
        "BERTScore",
        "bertscore",
        "roberta-large",
        {"layer": 17, "part": "f", "references": "first"},
        "nobody",
        "section 3.3",
        "the values are UniEval's, whose paper names no weights either; those of BERTScore's default are taken",
    ),
    MetricRow(("table2",), "USR", "usr", source="section 3.5"),
    _unieval("table2", "dialogue", _SPLIT),
    MetricRow(
        ("table3",),
        "BERTScore",
        "bertscore",
        "roberta-large",
        {"layer": 17, "part": "f", "references": "first"},
        "script",
        _SUM,
        "which of precision, recall and F is printed no source says; the released reference is the source",
    ),
    MetricRow(("table3",), "MoverScore", "moverscore", source="section 3.3"),
    MetricRow(("table3",), "FactCC", "factcc", source="section 3.3"),
    MetricRow(("table3",), "QAGS", "qags", source="section 3.3"),
    MetricRow(("table3",), "BARTScore", "bartscore", _CNN, _FORWARD, "script", _SUM, _DETOKENIZED),
    MetricRow(("table3",), "CTC", "ctc", source="section 3.6"),
    _unieval("table3", "fact", _SPLIT),
)
