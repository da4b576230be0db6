"""What to cite in the place of published cells that contradict their source."""

from nlgjudge.ledger.average_audit import LINE, printed_averages
from nlgjudge.ledger.ledger import committed
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.ledger.verdicts import MISPRINT, OWN


def corrections(paper, artefacts):
    """Lines of `Table.corrections`."""
    rows = committed().query("paper == @paper and artefact in @artefacts and published != ''")
    differ = rows["evidence"].isin(OWN) & ~rows["verdict"].isin(["exact", "close"])
    wrong = rows[differ | (rows["verdict"] == MISPRINT)].reset_index(drop=True)
    means = printed_averages(published()).set_index(LINE)["mean"]
    average = wrong["verdict"] == MISPRINT
    same = wrong["verdict"] == "relabelled"
    wrong["cite"] = wrong["ours"].mask(same, wrong["published"].where(same).astype(float))
    wrong["cite"] = wrong["cite"].mask(average, means.reindex(wrong.set_index(LINE).index).values)
    wrong["why"] = [_why(cell) for cell in wrong.itertuples()]
    return wrong[["paper", "artefact", *KEY, "published", "ours", "verdict", "cite", "why"]]


def _why(cell):
    """The reason, from the ledger's note and variant."""
    if cell.verdict == MISPRINT:
        return "the mean of its cells"
    reason = cell.note.partition(";")[0]
    if cell.verdict != "relabelled":
        return f"our values: {reason}"
    _, separator, labels = cell.variant.rpartition(" | ")
    return f"the same numbers; {f'the columns hold {labels}' if separator else reason}"
