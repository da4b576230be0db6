"""Which other run of a metric stands beside which printed row, by what is known of both and never by its results.

A run stands beside a row where it scores the same texts by a metric of the same name. Of precision, recall and F the
one is taken that the row's protocol states; of two runs the one that states this part, or else the one that uses
several references where the row does.
"""

from typing import NamedTuple


class OtherRunRow(NamedTuple):
    """A column of another run, and the printed rows beside which it stands.

    Attributes
    ----------
    benchmark : str
        Name for `nlgjudge.load`.
    rows : tuple of (str, str)
        Paper and label.
    column : str
        As of `nlgjudge.data.published_runs.other_runs`.
    variant : str
        Publication, part and references, as far as they are known.
    note : str
        What is not known, or differs from the row.
    """

    benchmark: str
    rows: tuple
    column: str
    variant: str
    note: str


_DEUTSCH = "Deutsch et al. 2021, F, first reference"
_COLOMBO = "Colombo et al. 2022, {part}"
_BHANDARI = "Bhandari et al. 2020, {part}, one reference"
_UNNAMED = "its weights are not named"
_BASE = "its weights are not named, and the paper's are bert-base-uncased"

OTHER_RUN_ROWS = (
    OtherRunRow(
        "summeval",
        (("chatgpt", "BERTScore"), ("geval", "BERTScore")),
        "deutsch2021:bertscore-f",
        _DEUTSCH,
        f"{_UNNAMED}, and the row's other metrics are means over eleven references",
    ),
    OtherRunRow(
        "summeval", (("coascore", "BERTScore"),), "deutsch2021:bertscore-f", _DEUTSCH, _BASE
    ),
    OtherRunRow(
        "summeval",
        (("chatgpt", "MoverScore"), ("geval", "MOVERSscore")),
        "colombo2022:moverscore",
        _COLOMBO.format(part="several references"),
        f"{_UNNAMED}, and how it counts several references is not stated",
    ),
    OtherRunRow(
        "realsumm",
        (("chatgpt", "BERTScore"),),
        "bhandari2020:bertscore-r",
        _BHANDARI.format(part="recall"),
        _UNNAMED,
    ),
    OtherRunRow(
        "realsumm",
        (("chatgpt", "MoverScore"),),
        "bhandari2020:moverscore",
        "Bhandari et al. 2020, one reference",
        _UNNAMED,
    ),
    OtherRunRow(
        "topical_chat",
        (("geval", "BERTScore"),),
        "colombo2022:bertscore",
        _COLOMBO.format(part="part not stated"),
        _UNNAMED,
    ),
    OtherRunRow(
        "topical_chat",
        (("coascore", "BERTScore"),),
        "colombo2022:bertscore",
        _COLOMBO.format(part="part not stated"),
        _BASE,
    ),
)
