"""A rerun: published rows of a model asked of another judge, and its folder of results."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.checks import check_known
from nlgjudge.data.markup import shown
from nlgjudge.data.paths import SAMPLE_NOTICE, workplace
from nlgjudge.data.recordings import RECORDINGS, available
from nlgjudge.judging.judge import Budget
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.scoring import item_scores, reply_counts, responses
from nlgjudge.judging.tasks import MISSING
from nlgjudge.ledger import ledger
from nlgjudge.ledger.comparison import averages, compare, correlations_of
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.ledger.verdicts import COLUMNS
from nlgjudge.notebook import sentences
from nlgjudge.notebook.rerun_requests import (
    CHAINS,
    OPTIONS,
    PAPERS,
    PLACE,
    REPLIES,
    ask_all,
    benchmarks_of,
    by_part,
    judges_of_rows,
    parts_of,
    plan_of,
)
from nlgjudge.notebook.whole_table import paper_table
from nlgjudge.papers.dhp.discernment_score import discernment
from nlgjudge.papers.folders import paper as paper_of
from nlgjudge.papers.llmbar.counting import unread_as_wrong
from nlgjudge.stats.intervals import interval_table, mean_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import matplotlib.figure
    from IPython.display import Markdown

LINE = ["paper", "artefact", "row", "dataset", "level", "coefficient"]  # of the means
MEANS = [*LINE, "aspects", "ours", "ci_low", "ci_high", "published", "model"]
REHEARSAL = "a rehearsal on the first {} documents of each dataset"
MEANS += ["difference", "difference_low", "difference_high", "reading", "rule", "ceiling", "why"]
NO_DISCERNMENT = pd.DataFrame(columns=["judge", "dataset"])


class Rerun(NamedTuple):
    """What a judge gave for the rows of a model; a notebook displays its sentences.

    Attributes
    ----------
    cells
        The ledger's columns; a line for each published cell that the judge reaches, in every version of the paper.
    means
        By table, row and dataset, the mean over aspects in one coefficient: `ours` with `ci_low, ci_high`, and
        `published` by the paper's `model`; `difference`, with bounds, from the released scores of the published row;
        `reading`, `higher`, `lower` or `within chance` (empty without an interval); `rule`, what a rule-based judge
        reaches; `ceiling`, a single rater with the mean of the others; `why` there is no value.
    counts
        By row, dataset and tables: `judge, items, replies` wanted, `read`, `unread` (without a rating), `missing` (not
        asked or not answered), `calls` and `cost` of this run, what was `sent`, and what the paper `left open`.
    plan
        By row, dataset and tables, the `ratings` wanted (items times aspects; both orders of a pair are two) and what
        had to be asked for them when the run began; `_without_logprobs` if the server gives no token probabilities.
    enters
        Whether the cells may enter the ledger.
    notice
        How many replies were parsed, why the cells may not enter, and what is left out.
    scores
        By row, dataset and tables, people's ratings by aspect as published, and the judge's as ``judge:aspect``.
    prompts
        Digests of the prompts, by name.
    responses
        All replies with their scores, as from `nlgjudge.judge_items`.
    stopped
        Why the run stopped early: most replies could not be read.
    discernment
        Of DHP, `judge, dataset, perturbation`, D as `value` with `ci_low, ci_high`, and the `largest` D that the number
        of texts allows.
    """

    cells: pd.DataFrame
    means: pd.DataFrame
    counts: pd.DataFrame
    plan: pd.DataFrame
    enters: bool = False
    notice: str = ""
    scores: dict[tuple[str, str, str], pd.DataFrame] = {}
    prompts: dict[str, str] = {}
    responses: pd.DataFrame = pd.DataFrame()
    stopped: str = ""
    discernment: pd.DataFrame = NO_DISCERNMENT

    def sentences(self, paper: str = "", artefact: str = "") -> list[str]:
        """Say what the judge gives in each table, or in one, beside the published value."""
        means = self.means
        if paper:
            means = means[(means["paper"] == paper) & (means["artefact"] == artefact)]
        tables = means.groupby(["paper", "artefact"], sort=False)
        texts = [sentences.of_judge(part, self._counts_of(part)) for _, part in tables]
        counts = self.counts.reset_index()
        for (_, dataset), part in self.discernment.groupby(["judge", "dataset"], sort=False):
            if paper in ("", "dhp"):
                own = counts[(counts["tables"] == "discernment") & (counts["dataset"] == dataset)]
                texts.append(sentences.of_discernment(part, own))
        return texts

    def _counts_of(self, means):
        """Lines of `counts` for some rows of `means`."""
        counts = self.counts.reset_index()
        if "paper" in counts:  # of several papers in one folder
            counts = counts[counts["paper"] == paper_of(means["paper"].iloc[0]).key]
        of_table = counts["tables"].map(lambda names: means["artefact"].iloc[0] in names.split("|"))
        return counts[of_table & counts["row"].isin(means["row"])]

    def figure(self) -> matplotlib.figure.Figure:
        """Draw the means by table and row beside the published ones, recorded judges, a rule and a single rater."""
        from nlgjudge.notebook import figures  # a plan draws nothing

        return figures.judged(self.means, _recorded_means(self.means))

    def tables(self):
        """Yield each published table with the judge's cells below the published ones, of its rows alone."""
        for (paper, artefact), own in self.cells.groupby(["paper", "artefact"], sort=False):
            if artefact not in set(self.means.loc[self.means["paper"] == paper, "artefact"]):
                continue  # a later version with the same values
            whole = paper_table(own, paper, artefact, elsewhere=False)
            cells = whole.cells[whole.cells["row"].isin(own["row"])].reset_index(drop=True)
            absent = cells["verdict"].eq("not_run") & cells["variant"].eq("")
            cells.loc[absent, ["variant", "note"]] = ["none", "not asked, or a part has no value"]
            whole.cells = cells
            yield whole

    def __repr__(self):
        return shown("\n".join([*self.sentences(), *self.notice.splitlines()]))

    def _repr_markdown_(self):
        parts = [shown(text, "markdown").partition(": ") for text in self.sentences()]
        lines = [f"**{table}:** {rest}" for table, _, rest in parts]
        return "\n\n".join(
            [*lines, *(shown(text, "markdown") for text in self.notice.splitlines())]
        )

    def left_open(self) -> Markdown:
        """List what the paper leaves open, and what a server did in place of what was asked, by row."""
        from IPython.display import Markdown

        asked = self.counts.reset_index()
        asked = asked[asked["left open"] != ""].groupby("left open", sort=False)["row"].unique()
        lines = [shown(f"{', '.join(rows)}: {note}", "markdown") for note, rows in asked.items()]
        return Markdown("\n".join(f"- {line}" for line in lines))


def rerun(
    paper: str,
    artefacts: str | Sequence[str],
    judge: object = "",
    *,
    source: Literal["auto", "real", "sample"] = "auto",
    limit: int = 0,
    price: Sequence[float] | None = None,
    max_cost: float | None = None,
    options: dict | None = None,
    notebook: str = "",
    plan_only: bool = False,
    report: Callable[[str], object] | None = None,
) -> Rerun:
    """Rerun the rows of a model in published tables with another judge.

    Parameters
    ----------
    paper
        Its package's name; both versions of G-Eval are one paper.
    artefacts
        As ``"table1"``, of DHP ``"discernment"``. Tables that share replies are asked once.
    judge
        As for `nlgjudge.judge_items`, for all rows, or a dict with one for each row by its published label. Empty asks
        nobody and gives the plan.
    source
        As for `nlgjudge.load`. With ``auto`` a served judge is not asked about the sample.
    limit
        Documents of each dataset, for a rehearsal without verdicts; 0 is all.
    price
        Of a million prompt and a million completion tokens.
    max_cost
        What all judges may spend together, in the price's currency.
    options
        In place of the protocols': `samples`, `temperature`, `top_p`, `max_tokens`, other parameters of the request in
        a dict `sampling`, and `pattern`, a regular expression for ratings that are not read otherwise
        (`nlgjudge.judging.Reading`). ``{"logprobs": False}`` is for a model without token probabilities, which G-Eval
        then estimates from twenty samples (section 2).
    notebook
        Written into the cells.
    plan_only
        Ask nothing.
    report
        Called with a line after each row on each dataset.

    Raises
    ------
    ValueError
        For an unknown paper, table, row, judge or option, and on the sample with ``source="auto"``;
        before anything is asked.

    Examples
    --------
    >>> run = rerun("geval", "table2", "surface", source="sample")
    >>> run.enters, run.cells["row"].unique().tolist()
    (False, ['G-EVAL-3.5', 'G-EVAL-4'])
    >>> rerun("geval", "table2", source="sample").plan["calls"].tolist()
    [200, 200]
    """
    for name in options or {}:
        check_known("option", name, OPTIONS)
    options = {name: value for name, value in (options or {}).items() if value is not None}
    budget = Budget(max_cost)
    limits = {"price": price, "budget": budget}
    judges = judges_of_rows(paper, artefacts, judge, limits)
    parts = [part for part in parts_of(paper, artefacts) if part.row.row in judges]
    benchmarks, absent = benchmarks_of(parts, source)
    if absent_prompts := [part for part in parts if not part.is_readable]:
        absent += list(dict.fromkeys(f"the prompt of {part.row.row}" for part in absent_prompts))
        parts = [part for part in parts if part not in absent_prompts]
    parts = [
        part.loaded(benchmarks[part.scope.benchmark], limit)
        for part in parts
        if part.scope.benchmark in benchmarks
    ]
    plan = plan_of(parts, judges, options, price)
    prompts = {prompt.name: prompt.digest for part in parts for prompt in part.prompts.values()}
    if plan_only or not judge:
        said = [] if judge else ["no judge is named, so no request was sent"]
        if debates := list(dict.fromkeys(part.row.row for part in parts if part.debates)):
            said += [
                f"the calls are the least that it takes: a debate ({', '.join(debates)}) asks once more where the "
                "orders differ"
            ]
        said += [*_left_out(absent), *[REHEARSAL.format(limit)] * bool(limit)]
        empty = pd.DataFrame(columns=COLUMNS), pd.DataFrame(columns=MEANS), by_part({}, REPLIES)
        return Rerun(*empty, plan, notice="; ".join(said), prompts=prompts)
    sample = any(benchmark.is_sample for benchmark in benchmarks.values())
    if sample and source == "auto" and any(asked.asks for asked in judges.values()):
        raise ValueError(
            "SAMPLE: only the repository's sample is available, so nothing was asked. Fetch the real "
            "data (`nlgjudge data fetch`), or pass source='sample' to ask about the sample."
        )
    budget.left = lambda: plan_of(parts, judges, options, price).sum(numeric_only=True)
    replies, counts, stopped = ask_all(parts, judges, options, report)
    parts = [part for part in parts if part.key in replies]
    objections = [*filter(None, [stopped]), *_objections(judges, counts, options, sample, limit)]
    discerned = [NO_DISCERNMENT]
    if paper == "dhp":
        discerned += [_discerned(part, replies[part.key], judges) for part in parts]
        objections.append("DHP publishes no numbers: its D enters no ledger")
        parts = []
    scores = {part.key: _scores(part, replies[part.key]) for part in parts}
    rarely_rated = _rarely_rated(scores)
    counted = {part.key: _counted(part, scores[part.key], "judge") for part in parts}
    cells = _cells(parts, counted, judges, options, notebook, sample)
    if limit:
        cells["verdict"] = ""  # a rehearsal proves nothing
    means = _means(parts, counted)
    responses = pd.concat([pd.DataFrame(), *replies.values()], ignore_index=True)
    notice = "; ".join([*objections, *_left_out(absent), *rarely_rated])
    if len(responses):
        read = reply_counts(responses)
        if any(part.row.unread != "left out" for part in parts):
            read = read.replace(", and the results leave them out", "")
        notice = "\n".join([read, notice]).strip()
    return Rerun(
        cells,
        means,
        counts,
        plan,
        not objections,
        notice,
        scores,
        prompts,
        responses,
        stopped,
        pd.concat(discerned),
    )


def _discerned(part, responses, judges):
    """D of each of DHP's perturbations of one dataset."""
    keys = part.items[["item_id", "original", "perturbation", "level"]]
    scores = item_scores(responses).merge(keys, on="item_id")
    found = discernment(scores, resamples=200).perturbations.rename(columns={"D": "value"})
    place = {"judge": judges[part.row.row].name, "dataset": part.scope.dataset}
    return found.reset_index().assign(**place)


def _scores(part, responses):
    """People's ratings under the aspects' published names, and next to them the judge's."""
    people = part.benchmark.human()
    people = people[people["item_id"].isin(part.items["item_id"])]
    frame = people[["item_id", "doc_id", "system_id"]]
    ratings = {aspect: people[rated] for aspect, (_, rated) in part.aspects.items()}
    return _with_scores(part, frame.assign(**ratings), responses, "judge")


def _with_scores(part, frame, responses, name):
    """A frame with the scores of replies, a column ``name:aspect`` for each aspect."""
    missing = responses["reason"].isin(MISSING)
    if part.row.unread == "0":
        responses = responses.assign(score=responses["score"].fillna(0).mask(missing))
    scores = item_scores(responses).pivot(index="item_id", columns="aspect", values="score")
    frame = frame.join(scores.add_prefix(f"{name}:"), on="item_id")
    if part.row.unread == "wrong":  # what is missing is not
        partly = frame["doc_id"].where(frame["item_id"].isin(responses.loc[missing, "item_id"]))
        frame = frame[~frame["doc_id"].isin(partly)]
    return frame


def _counted(part, frame, name):
    """Where a paper counts unread choices as wrong, ``name:coefficient`` in the place of ``name:aspect``."""
    columns = [f"{name}:{aspect}" for aspect in part.aspects]
    if part.row.unread != "wrong" or frame[columns].isna().all(axis=None):
        return frame
    (aspect,) = part.aspects
    counted = unread_as_wrong(frame.rename(columns={columns[0]: name}), [name], aspect)
    return frame.drop(columns=columns).merge(counted, on="item_id")


def _column(frame, name, aspect, coefficient):
    """The column of a name's scores of an aspect, or where each coefficient has its own, of that."""
    counted = f"{name}:{coefficient}"
    return counted if counted in frame else f"{name}:{aspect}"


def _rarely_rated(scores):
    """Empty the scores of aspects of which fewer than half of the items are rated, and name them."""
    texts = []
    for (row, dataset, _), frame in scores.items():
        for column in frame.filter(like="judge:"):
            rated = frame[column].notna().sum()
            if 0 < rated < len(frame) / 2:
                frame[column] = np.nan
                aspect = column.removeprefix("judge:")
                texts.append(
                    f"left out because fewer than half of the items are rated: {row}, {dataset}, {aspect} ({rated:,} "
                    f"of {len(frame):,})"
                )
    return texts


def _cells(parts, scores, judges, options, notebook, sample):
    """Our cells next to each published table, with averages."""
    own = {}
    for part in parts:
        cells = _correlations(part, scores[part.key])
        labels = _labels(part, judges[part.row.row], options)
        own[part.key] = cells.assign(**labels | {"note": cells["reason"] + labels["note"]})
    tables = []
    for version, artefact in _versions(parts):
        table = published(version, artefact)
        ours = []
        for row in dict.fromkeys(part.row.row for part in parts):
            own_parts = [
                part for part in parts if part.row.row == row and artefact in part.artefacts
            ]
            if own_parts:
                cells = pd.concat([own[part.key] for part in own_parts]).merge(table[KEY], on=KEY)
                frames = {part.scope.dataset: scores[part.key] for part in own_parts}
                policy = {"constant": own_parts[0].scope.constant}
                ours += [cells, averages(table[table["row"] == row], cells, frames, **policy)]
        ours = pd.concat(ours, ignore_index=True)
        ours = ours.drop(columns=["metric", "reason"], errors="ignore")
        if len(ours):
            how = {"evidence": "none", "notebook": notebook, "sample": sample}
            tables.append(compare(version, artefact, table, ours, **how))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=COLUMNS)


def _versions(parts):
    """Tables of some parts in all published versions of their paper, as pairs of version and table."""
    artefacts = dict.fromkeys(name for part in parts for name in part.artefacts)
    keys = [version for part in parts[:1] for version in PAPERS[part.paper].versions]
    return [(version, artefact) for version in keys for artefact in artefacts]


def _correlations(part, frame):
    """Every published correlation of a part, with its interval."""
    cells = pd.concat([_cells_of(part, published(*key)) for key in _versions([part])])
    ours = correlations_of(frame, ["judge"], cells, part.scope.constant)
    ours = ours.merge(cells[KEY[1:]].drop_duplicates(), on=KEY[1:])
    ours["metric"] = ours.pop("column")
    ours["reason"] = [
        reason and f"{_undefined(frame[column], reason)}; "
        for column, reason in zip(ours["metric"], ours["reason"])
    ]
    return interval_table(frame, ours, constant=part.scope.constant)


def _undefined(scores, reason):
    """Why scores have no correlation with people's ratings."""
    values = scores.dropna()
    if values.empty:
        return "for fewer than half of the items a reply came that could be read"
    if values.nunique() > 1:
        return reason
    return f"its {len(values):,} readable ratings are all {values.iloc[0]:g}, so there is no correlation"


def _cells_of(part, table):
    """Cells of a published table that belong to a part."""
    own = (table["row"] == part.row.row) & (table["dataset"] == part.scope.dataset)
    return table[own & table["aspect"].isin(part.aspects)]


def _labels(part, judge, options):
    """Row, judge, evidence, variant and note of a part's cells."""
    sent, left_open = part.departures(judge, options)
    evidence = "substitute_judge" if judge.recorded else "rejudged"
    return {
        "row": part.row.row,
        "judge": judge.name,
        "evidence": evidence if judge.is_model else "none",
        "variant": f"{judge.name}, {sent}",
        "note": "; ".join([f"in the place of {part.row.model}", *left_open]),
    }


def _means(parts, scores):
    """The mean over aspects of each row and dataset, by table; a later version only where it publishes other values."""
    lines, before, measured = [], {}, {}
    for version, artefact in _versions(parts):
        table = published(version, artefact)
        for part in [part for part in parts if artefact in part.artefacts]:
            cells = _cells_of(part, table)
            values = cells["printed"].tolist()
            if values == before.get((artefact, part.key)):
                continue
            before[artefact, part.key] = values
            frame = scores[part.key]
            cells = _in_one_coefficient(cells, frame)
            if cells.empty:
                continue
            how = cells.loc[0, ["level", "coefficient"]].to_dict()
            place = *cells["aspect"], *how.values()
            if (part.key, place) not in measured:
                measured[part.key, place] = _measured(part, list(cells["aspect"]), how, frame)
            line = {"paper": version, "artefact": artefact, "row": part.row.row, **how}
            line |= {"dataset": part.scope.dataset, "aspects": len(cells), "model": part.row.model}
            line |= {"published": cells["value"].mean(), **measured[part.key, place]}
            lines.append(line | {"reading": _reading(line)})
    return pd.DataFrame(lines, columns=MEANS)


def _in_one_coefficient(cells, frame):
    """Cells of a row in one coefficient, Spearman's where it is published, and one level; of aspects with scores."""
    cells = cells.dropna(subset="value")
    places = zip(cells["aspect"], cells["coefficient"])
    rated = [frame[_column(frame, "judge", *place)].notna().any() for place in places]
    cells = cells.loc[rated] if any(rated) else cells
    first = cells.sort_values("coefficient", key=lambda names: names != "spearman", kind="stable")
    how = first[["level", "coefficient"]].head(1)
    return cells.merge(how, on=["level", "coefficient"])


def _measured(part, aspects, how, frame):
    """A judge's mean, its difference from the released scores, a single rater's mean and that of a rule."""

    def mean_of(frame, *signs):
        names = [(name, aspect) for name, _ in signs for aspect in aspects]
        triples = [(frame, _column(frame, *one, how["coefficient"]), one[1]) for one in names]
        weights = [sign / len(aspects) for _, sign in signs for _ in aspects]
        return mean_interval(triples, weights=weights, constant=part.scope.constant, **how)

    ours = mean_of(frame, ("judge", 1))
    line = {"ours": ours.value, "ci_low": ours.low, "ci_high": ours.high, "why": ""}
    if np.isnan(ours.value):
        columns = [_column(frame, "judge", aspect, how["coefficient"]) for aspect in aspects]
        fewest = min((frame[column] for column in columns), key=pd.Series.nunique)
        line["why"] = _undefined(fewest, ours.reason)
    line["ceiling"] = _ceiling(part, aspects, how)
    released = None if part.benchmark.is_sample else _released(part, frame)
    if released is not None:
        both = mean_of(released, ("judge", 1), ("released", -1))
        line |= {"difference": both.value, "difference_low": both.low, "difference_high": both.high}
    if part.row.scoring not in CHAINS:  # rules cannot answer a chain
        by_rule = part.ask(get_judge("surface"), {"samples": 1})
        line["rule"] = mean_of(
            _counted(part, _with_scores(part, frame, by_rule, "rule"), "rule"), ("rule", 1)
        ).value
    return line


def _reading(line):
    """Whether the judge is higher or lower than what is published, or within chance; empty without an interval."""
    low, high, zero = line["ci_low"], line["ci_high"], line["published"]
    if not np.isnan(line.get("difference_low", np.nan)):
        low, high, zero = line["difference_low"], line["difference_high"], 0
    if np.isnan(low):
        return ""
    return "higher" if zero < low else "lower" if zero > high else sentences.CHANCE


def _released(part, frame):
    """The frame with the scores of the replies that the row rests on; None where they are not released or not here."""
    own_name = f"{part.paper}/{part.row.row}"
    name = PAPERS[part.paper].recorded.get(part.scope.dataset, {}).get(part.row.row, own_name)
    if name not in RECORDINGS or not available(name):
        return None
    released = responses(name, items=part.items, policy=part.row.policy)
    both = _counted(part, _with_scores(part, frame, released, "released"), "released")
    return both.dropna(subset=both.filter(like=":").dropna(axis=1, how="all").columns)


def _ceiling(part, aspects, how):
    """Mean over aspects of a single rater's agreement with the others; NaN without single raters."""
    from nlgjudge.stats.rater_agreement import ceiling  # a plan needs no statistics

    ratings = part.benchmark.ratings.merge(
        part.items[["item_id", "doc_id", "system_id"]], on="item_id"
    )
    each = [ratings[ratings["aspect"] == part.aspects[aspect][1]] for aspect in aspects]
    if any(rated["rater"].nunique() < 2 for rated in each):
        return np.nan
    return float(
        np.mean([ceiling(rated, constant=part.scope.constant, **how).value for rated in each])
    )


def _objections(judges, counts, options, sample, limit):
    """Why cells may not enter the ledger."""
    for name in dict.fromkeys(judge.name for judge in judges.values() if not judge.is_model):
        yield f"{name} is not a language model: it enters no ledger"
    if sample:
        yield "the items are the sample's, not the papers'"
    if limit:
        yield f"{REHEARSAL.format(limit)}: it enters no ledger"
    # Estimating probabilities from samples is G-Eval's own way.
    departures = [f"{name}={value}" for name, value in options.items() if name != "logprobs"]
    if departures:
        yield f"not the paper's protocol ({', '.join(departures)}): it enters no ledger"
    replies = counts[["replies", "read", "unread", "missing"]].sum()
    if replies["missing"]:
        yield (
            f"{replies['missing']:,} of {replies['replies']:,} replies are missing: it enters no "
            "ledger until they are there"
        )
    if replies["unread"] and not replies["read"]:
        yield f"of {replies['unread']:,} replies none could be read: it enters no ledger"


def _left_out(absent):
    return [f"left out because the data are not here: {', '.join(absent)}"] if absent else []


def _recorded_means(means):
    """Means of recorded and kept judges over the same cells, by line of `means`."""
    reruns = ledger.committed("reruns").query("aspect != 'AVG'").dropna(subset="ours")
    recorded = reruns.groupby([*LINE, "judge"])["ours"].agg(["mean", "size"]).reset_index()
    recorded = means[[*LINE, "aspects"]].merge(recorded, on=LINE)
    return recorded[recorded["size"] == recorded["aspects"]].drop(columns=["size", "aspects"])


def place(names: Sequence[str], options: dict, limit: int, sample: bool) -> Path:
    """Folder of the runs of some judges; runs on the sample, rehearsals and other options have their own."""
    words = [re.sub(r"[^\w.]+", "-", name.removeprefix("openai:")) for name in names]
    options = options | options.get("sampling", {})
    if "pattern" in options:
        options["pattern"] = hashlib.sha256(options["pattern"].encode()).hexdigest()[:6]
    apart = [f"-{name}{value}" for name, value in options.items() if name != "sampling"]
    apart = [re.sub(r"[^\w.-]+", "", text) for text in apart]
    apart += [f"-limit{limit}"] * bool(limit) + ["-sample"] * sample
    return workplace() / "build" / "reruns" / "".join(["+".join(words), *apart])


def save(runs: dict[str, Rerun], folder: Path) -> None:
    """Add runs, by paper, to a judge's folder: rows that were run before are replaced, calls and cost added up."""
    folder.mkdir(parents=True, exist_ok=True)
    cells = pd.concat([run.cells for run in runs.values()], ignore_index=True)
    means = pd.concat([run.means for run in runs.values()], ignore_index=True)
    counts = pd.concat({name: run.counts for name, run in runs.items()}, names=["paper"])
    counts = counts.reset_index()
    discerned = pd.concat([run.discernment for run in runs.values()], ignore_index=True)
    if (folder / "cells.csv").exists():
        before = read_rerun(folder)
        cells = ledger.added(before.cells, cells, ["paper", "artefact", "row"])
        means = ledger.added(before.means, means, ["paper", "artefact", "row", "dataset"])
        line = ["paper", *PLACE]
        paid = before.counts.set_index(line)[["calls", "cost"]].reindex(counts[line]).fillna(0)
        counts = counts.assign(**{name: counts[name] + paid[name].to_numpy() for name in paid})
        counts = ledger.added(before.counts, counts, line)
        discerned = ledger.added(before.discernment, discerned, ["judge", "dataset"])
    ledger.save(cells[COLUMNS], folder / "cells.csv")
    tables = {"means": means, "replies": counts, "discernment": discerned}
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")


def read_rerun(folder: str | Path) -> Rerun:
    """Read what a judge gave so far, from its folder below `build/reruns/`; without plan, scores and replies.

    Raises `FileNotFoundError` for a folder without results.
    """
    folder = Path(folder)
    if not (folder / "cells.csv").exists():
        raise FileNotFoundError(f"{folder}: expected cells.csv of a rerun")
    means = pd.read_csv(folder / "means.csv", converters={"reading": str, "why": str})
    if "why" not in means:  # of an earlier version
        means["why"] = ""
    counts = pd.read_csv(folder / "replies.csv", keep_default_na=False)
    notice = [f"SAMPLE: {SAMPLE_NOTICE}."] * folder.name.endswith("-sample")
    if limit := re.search(r"-limit(\d+)", folder.name):
        notice.append(f"{REHEARSAL.format(limit[1])}: it has no verdicts.".capitalize())
    run = Rerun(ledger.read(folder / "cells.csv"), means, counts, pd.DataFrame())
    if (path := folder / "discernment.csv").exists():
        run = run._replace(discernment=pd.read_csv(path))
    return run._replace(notice="\n".join(notice))
