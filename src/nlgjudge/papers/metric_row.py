"""A printed row of a neural metric, as data: what each paper's module states for the rows that weights produce."""

from typing import NamedTuple

# Whose word the model is: the paper's own, that of a script which its authors or the metric's released, or nobody's.
STATED = ("paper", "script", "nobody")


class MetricRow(NamedTuple):
    """How the values of a printed row of a metric came about.

    The row's levels and coefficients are those of its printed cells, and its datasets, items and ratings those of
    its tables' `nlgjudge.papers.protocol.Scope`; neither is stated a second time.

    Attributes
    ----------
    artefacts : tuple of str
        Tables that print the row, as ``("table1",)``.
    row : str
        Its label, as printed.
    metric : str
        ``bertscore``, ``bartscore`` or ``unieval``, or a key of `nlgjudge.metrics.neural.NOT_HERE`.
    model : str
        Hub name of the weights; empty for a metric that is not computed here.
    options : dict
        Of BERTScore `layer`, `part` (of p, r and f) and `references` (first, mean or max); of BARTScore
        `direction`, `references` where it takes them, and `parameters`, a file beside the weights; of UniEval
        `task`. BERTScore takes no IDF weights in any row, and rescaling changes no correlation.
    stated : str
        Whose word the model is, one of `STATED`.
    source : str
        Section, or the script.
    note : str
        What the source leaves open, and what is taken instead.
    datasets : tuple of str
        Those of the tables' datasets that the entry speaks of; empty for all.
    """

    artefacts: tuple
    row: str
    metric: str
    model: str = ""
    options: dict = {}
    stated: str = "nobody"
    source: str = ""
    note: str = ""
    datasets: tuple = ()
