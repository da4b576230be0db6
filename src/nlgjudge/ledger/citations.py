"""What to cite in the place of published cells that contradict their source."""

from nlgjudge.data.checks import check_known
from nlgjudge.ledger.average_audit import LINE, printed_averages
from nlgjudge.ledger.ledger import committed
from nlgjudge.ledger.printed import KEY, PAPERS
from nlgjudge.ledger.verdicts import EVIDENCE, MISPRINT

OWN = EVIDENCE[:3]  # from the paper's own material


def corrections(paper, rows=None):
    """List the published cells that contradict their source, and what to cite instead.

    A rule chooses. For an average that is not the mean of its cells it is this mean; for a cell with a wrong label, the
    same number under the label that fits; for any other cell to which the paper's own texts, scores or replies give
    another value, this value.

    Parameters
    ----------
    paper : str
        A published version, as ``geval`` or ``geval_v1``.
    rows : pandas.DataFrame, optional
        Cells of the ledger; the committed ones by default.

    Returns
    -------
    pandas.DataFrame
        `artefact, row, dataset, aspect, level, coefficient, published, ours, verdict`, `cite` (a number, the published
        one where only its label is wrong) and `why`. No line if nothing contradicts.

    Raises
    ------
    ValueError
        For an unknown paper.

    Examples
    --------
    >>> found = corrections("geval").query("row == 'G-EVAL-4' and artefact == 'table1'")
    >>> found[["coefficient", "published", "cite", "why"]].round(4).values.tolist()[0]
    ['spearman', '0.514', 0.5355, 'the mean of its cells']
    """
    check_known("published paper", paper, PAPERS)
    rows = committed() if rows is None else rows
    rows = rows[(rows["paper"] == paper) & (rows["published"] != "")]
    differ = rows["evidence"].isin(OWN) & ~rows["verdict"].isin(["exact", "close"])
    wrong = rows[differ | (rows["verdict"] == MISPRINT)].reset_index(drop=True)
    means = printed_averages().set_index(LINE)["mean"]
    average = wrong["verdict"] == MISPRINT
    same = wrong["verdict"] == "relabelled"
    wrong["cite"] = wrong["ours"].mask(same, wrong["published"].where(same).astype(float))
    wrong["cite"] = wrong["cite"].mask(average, means.reindex(wrong.set_index(LINE).index).values)
    wrong["why"] = [_why(cell) for cell in wrong.itertuples()]
    return wrong[["artefact", *KEY, "published", "ours", "verdict", "cite", "why"]]


def _why(cell):
    """The reason, from the ledger's note and variant."""
    if cell.verdict == MISPRINT:
        return "the mean of its cells"
    reason = cell.note.partition(";")[0]
    if cell.verdict != "relabelled":
        return f"our values: {reason}"
    _, separator, labels = cell.variant.rpartition(" | ")
    return f"the same numbers; {f'the columns hold {labels}' if separator else reason}"
