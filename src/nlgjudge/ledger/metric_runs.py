"""Printed rows of neural metrics, computed from weights, cell for cell.

`nlgjudge.papers.metric_row` says what a row is; items, ratings and cells are those of `nlgjudge.ledger.model_rows`.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.choices import unknown
from nlgjudge.ledger.model_rows import PAPERS, Part, PartRun, by_part, compared, printed_tables
from nlgjudge.ledger.reruns import benchmarks_of
from nlgjudge.metrics import neural, weights

PLAN = ["metric", "model", "stated", "weights", "size", "items", "texts", "note"]


class MetricRun(NamedTuple):
    """What weights gave for the rows of neural metrics.

    Attributes
    ----------
    cells : pandas.DataFrame
        The ledger's columns, a line for each printed cell that was computed.
    plan : pandas.DataFrame
        By row, dataset and tables, the columns of `PLAN`: what there is to compute, and `note`, why a row is left out.
    missing : list of str
        Why weights cannot be had, a line for each model.
    enters : bool
        Whether all cells are of the papers' own models, on all items.
    said : str
        Why they are not, and what is left out.
    """

    cells: pd.DataFrame
    plan: pd.DataFrame
    missing: list
    enters: bool
    said: str


def metric_parts(paper, artefacts):
    """The printed rows of neural metrics in some tables, by dataset.

    Parameters
    ----------
    paper : str
        One of `nlgjudge.ledger.model_rows.PAPERS`.
    artefacts : iterable of str

    Returns
    -------
    list of nlgjudge.ledger.model_rows.Part
        Whose row is a `nlgjudge.papers.metric_row.MetricRow`.

    Examples
    --------
    >>> [part.row.row for part in metric_parts("geval", ["table2"])]
    ['BERTScore', 'USR', 'UniEval']
    """
    found = []
    for scope in PAPERS[paper].SCOPES:
        for row in getattr(PAPERS[paper], "METRIC_ROWS", ()):
            tables = tuple(
                name for name in artefacts if name in scope.artefacts and name in row.artefacts
            )
            if tables and (not row.datasets or scope.dataset in row.datasets):
                found.append(Part(row, scope, tables))
    return found


def run_metrics(
    paper,
    artefacts,
    *,
    models=None,
    folder="",
    source="auto",
    limit=0,
    only_plan=False,
    resamples=1000,
    seed=0,
    told=None,
):
    """Compute the rows of neural metrics in some tables.

    Device, batch size and reports of single texts are those of `nlgjudge.metrics.neural.running`.

    Parameters
    ----------
    paper : str
    artefacts : iterable of str
    models : dict of str to str, optional
        By a row's label, another model than the paper's: a hub name or a folder. Only these rows are computed.
    folder : str or path-like
        As for `nlgjudge.metrics.weights.checkpoint`.
    source : {"auto", "real", "sample"}
        As for `nlgjudge.load`.
    limit : int
        Take the first so many items of each dataset; 0 is all.
    only_plan : bool
        Compute nothing.
    resamples, seed : int
        Of the bootstrap; with no resamples there are no intervals.
    told : callable, optional
        Called with each `Part` before it is computed.

    Returns
    -------
    MetricRun

    Raises
    ------
    ValueError
        For a row that no table prints.
    """
    models = models or {}
    parts = metric_parts(paper, artefacts)
    _check_rows(models, parts)
    parts = [part for part in parts if not models or part.row.row in models]
    benchmarks, absent = benchmarks_of(parts, source) if parts else ({}, [])
    runs = [
        _MetricPart(part, models.get(part.row.row, ""), benchmarks[part.scope.benchmark], limit)
        for part in parts
        if part.scope.benchmark in benchmarks
    ]
    plan = by_part({run.part.key: run.plan(folder) for run in runs}, PLAN)
    missing = {}
    done = []
    sample = any(one.is_sample for one in benchmarks.values())
    rng = np.random.default_rng(seed)
    for run in runs:
        if only_plan or run.part.row.metric in neural.NOT_HERE:
            continue
        try:
            checkpoint = run.checkpoint(folder)
        except weights.MissingWeights as error:
            missing[str(error)] = None
            continue
        if told:
            told(run.part)
        run.compute(checkpoint)
        run.correlate(printed_tables(paper, run.part.artefacts), rng=rng, resamples=resamples)
        done.append(run)
    cells = compared(paper, done, notebook="rerun", sample=sample, rng=rng, resamples=resamples)
    strangers = cells["evidence"] != "recomputed"
    cells = cells.assign(verdict=cells["verdict"].mask(strangers, "not_run"))
    said = _said(done, sample=sample, limit=limit, absent=absent)
    enters = bool(len(cells)) and not (strangers.any() or sample or limit)
    return MetricRun(cells, plan, [*missing], enters, said)


def rows_of(parts):
    """Labels of the rows that can be computed.

    Parameters
    ----------
    parts : iterable of nlgjudge.ledger.model_rows.Part

    Returns
    -------
    list of str
    """
    return list(
        dict.fromkeys(part.row.row for part in parts if part.row.metric not in neural.NOT_HERE)
    )


def _check_rows(models, parts):
    """Refuse a model for a metric that is not computed here; rows of other tables are the caller's to check."""
    for part in parts:
        if part.row.row in models and part.row.metric in neural.NOT_HERE:
            raise ValueError(
                f"{part.row.row} is not computed: {neural.NOT_HERE[part.row.metric]}; "
                + unknown("row that is", part.row.row, rows_of(parts))
            )


class _MetricPart(PartRun):
    """One part, as weights compute it."""

    def __init__(self, part, model, benchmark, limit):
        super().__init__(part, model or part.row.model, benchmark, limit, {})
        self.model = model or part.row.model
        self.own_model = bool(model) and model != part.row.model
        self.options = part.row.options
        self.scores = None

    @property
    def is_papers(self):
        """Whether the model is the one that the paper, or a released script, names."""
        return not self.own_model and self.part.row.stated != "nobody"

    @property
    def parameters(self):
        """File of parameters beside the weights, which belongs to the paper's model alone."""
        return "" if self.own_model else self.part.row.options.get("parameters", "")

    def checkpoint(self, folder):
        """The weights, or an error that says what is missing; a model of one's own is not looked for in the folder."""
        return weights.checkpoint(self.model, "" if self.own_model else folder, self.parameters)

    def plan(self, folder):
        """What there is to compute, as `PLAN` names it."""
        row = self.part.row
        line = {
            "metric": row.metric,
            "model": _short(self.model),
            "stated": "you" if self.own_model else row.stated,
            "items": len(self.items),
        }
        if row.metric in neural.NOT_HERE:
            return line | {
                "stated": "",
                "weights": "",
                "size": "",
                "texts": 0,
                "note": neural.NOT_HERE[row.metric],
            }
        where = weights.whereabouts(self.model, "" if self.own_model else folder, self.parameters)
        return line | {
            "weights": where,
            "size": weights.size(self.model),
            "texts": self.texts(),
            "note": "",
        }

    def texts(self):
        """How many texts, or pairs of texts, are scored; UniEval asks about each aspect, of some by sentence."""
        options = self.part.row.options
        if self.part.row.metric == "unieval":
            asked = [aspect for aspect, _ in self.aspects.values()]
            return sum(neural.questions(self.items, options["task"], aspect) for aspect in asked)
        several = self._references() != "first" and "reference" in options.get(
            "direction", "reference"
        )
        return int(self.items["references"].map(len).sum()) if several else len(self.items)

    def compute(self, checkpoint):
        """Score the items for each aspect."""
        row = self.part.row
        options = row.options
        if row.metric == "unieval":
            found = {
                printed: neural.unieval(self.items, options["task"], asked, checkpoint.place)
                for printed, (asked, _) in self.aspects.items()
            }
        elif row.metric == "bertscore":
            if self.own_model:  # which may have fewer layers
                self.options = options | {"layer": min(options["layer"], _layers(checkpoint.place))}
            one = neural.bertscore(
                self._items(), checkpoint.place, self.options["layer"], self._references()
            )
            one = one.rename(columns={f"bertscore-{options['part']}": "score"})
            found = dict.fromkeys(self.aspects, one)
        else:
            one = neural.bartscore(
                self._items(),
                options["direction"],
                checkpoint.place,
                self._references(),
                checkpoint.parameters,
            )
            found = dict.fromkeys(self.aspects, one)
        self.scores = pd.DataFrame(
            {
                f"judge:{printed}": one.set_index("item_id")["score"]
                for printed, one in found.items()
            }
        )

    def _references(self):
        return self.part.row.options.get("references", "first")

    def _items(self):
        """The items, with the first reference alone where no other counts."""
        if self._references() != "first":
            return self.items
        return self.items.assign(
            references=self.items["references"].map(lambda texts: list(texts)[:1])
        )

    def _joined(self):
        people = self.benchmark.human()
        people = people[people["item_id"].isin(self.items["item_id"])]
        frame = people[["item_id", "doc_id", "system_id"]]
        frame = frame.assign(
            **{printed: people[rated] for printed, (_, rated) in self.aspects.items()}
        )
        return frame.join(self.scores, on="item_id")

    def _labels(self):
        row = self.part.row
        how = [
            _short(self.model),
            *(
                f"{name} {value}"
                for name, value in self.options.items()
                if name != "parameters" or not self.own_model
            ),
        ]
        notes = [f"model: {row.source}", row.note, self.part.scope.note]
        if self.own_model:
            notes = [
                f"no paper's model: {_short(self.model)} in the place of {row.model}",
                *notes[1:],
            ]
        elif not self.is_papers:
            notes = [f"no source names the model: {row.model} is taken", *notes[1:]]
        return {
            "row": row.row,
            "judge": "",
            "evidence": "recomputed" if self.is_papers else "none",
            "variant": ", ".join(how),
            "note": "; ".join(text for text in notes if text),
        }


def _short(model):
    """A hub's name, or of a folder its last name alone."""
    return Path(model).name if Path(model).is_dir() else model


def _layers(place):
    import transformers

    return transformers.AutoConfig.from_pretrained(place).num_hidden_layers


def _said(runs, *, sample, limit, absent):
    """What the cells are not, and what is left out, in sentences."""
    said = []
    if runs and sample:
        said.append("the items are the sample's, not the papers'")
    if runs and limit:
        said.append(f"a rehearsal on the first {limit} items of each dataset")
    for run in runs:
        if run.own_model:
            said.append(f"{run.part.row.row}: {_short(run.model)} is no paper's model")
        elif not run.is_papers:
            said.append(
                f"{run.part.row.row} on {run.part.scope.dataset}: no source names the model"
            )
    if said:
        said.append("these cells enter no ledger")
    if absent:
        said.append(f"left out because the data are not here: {', '.join(absent)}")
    return "; ".join(dict.fromkeys(said))
