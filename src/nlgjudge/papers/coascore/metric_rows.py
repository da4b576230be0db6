"""CoAScore's rows of neural metrics (Gong and Mao 2023, section 4.3), which names weights and directions."""

from nlgjudge.papers.metric_row import MetricRow

_TABLES = ("table2", "table3", "table4", "table12", "table13")

METRIC_ROWS = (
    MetricRow(
        _TABLES,
        "BERTScore",
        "bertscore",
        "bert-base-uncased",
        {"layer": 9, "part": "f", "references": "max"},
        "paper",
        "section 4.3",
        "layer and the best over references are the defaults of the package it names",
    ),
    MetricRow(
        _TABLES,
        "BARTScore",
        "bartscore",
        "facebook/bart-base",
        {"direction": "hypothesis to reference", "references": "mean"},
        "paper",
        "section 4.3",
        "how several references count is not said; the mean is the default of the script it names",
    ),
)
