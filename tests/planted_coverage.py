"""How often our 95% intervals hold the true correlation of a judge that is planted at 0.5.

The judge's score of an item is a normal variable whose correlation with people's rating, on the normal scale of
a Gaussian copula, is 0.5. Two worlds have a known truth:

- `texts`: people's ratings as they are. A study takes documents from the benchmark's with replacement and keeps
  its systems; the judge's errors are drawn anew for each item. Its interval is that over documents.
- `anew`: documents and systems are drawn anew from a normal world whose shares of variance (systems, documents,
  items) are those of the benchmark's ratings, and ratings get the benchmark's own values and frequencies. Its
  interval is that over documents and systems, which `nj.rerun` gives.

The true value of a cell is the mean of its correlation over all studies of that size: what a table like the
paper's would show on average with other texts, or with other texts and systems.

    python tests/planted_coverage.py --repetitions 300 > build/coverage_of_intervals.csv
"""

import argparse
import sys
import zlib
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

import nlgjudge as nj
from nlgjudge.ledger import model_rows, reruns
from nlgjudge.stats.correlations import grouped
from normal_study import planted

CORRELATION = 0.5
TABLES = {
    "geval": ("table1", "table2", "table3"),
    "chatgpt": ("table1", "table2", "table3", "table4", "table5", "table6", "table7"),
    "coascore": ("table2", "table3", "table4", "table5", "table6", "table12", "table13"),
}


class Cell(NamedTuple):
    """A correlation that some table prints for a row of a model."""

    benchmark: str
    left_out: tuple
    aspect: str
    level: str
    coefficient: str


def printed_cells(source="auto"):
    """The tables that print each cell, for the benchmarks that are here.

    Returns
    -------
    dict of Cell to list of str
    """
    found = {}
    for paper, artefacts in TABLES.items():
        parts = model_rows.parts_of(paper, list(artefacts))
        here, _ = reruns.benchmarks_of(parts, source)
        for part in parts:
            if part.scope.benchmark not in here:
                continue
            for version, artefact in model_rows.printed_tables(paper, part.artefacts):
                table = nj.published(version, artefact)
                own = table[
                    (table["row"] == part.row.row) & (table["dataset"] == part.scope.dataset)
                ]
                aspects = part.scope.aspects_of(part.row.row)
                for line in own[own["aspect"].isin(aspects)].itertuples():
                    _, rated = aspects[line.aspect]
                    cell = Cell(
                        part.scope.benchmark,
                        part.scope.left_out,
                        rated,
                        line.level,
                        line.coefficient,
                    )
                    name = f"{version} {artefact}"
                    if name not in found.setdefault(cell, []):
                        found[cell].append(name)
    return found


def first_aspects(cells):
    """The cells of one aspect of each benchmark, in every level and coefficient."""
    aspects = {}
    for cell in cells:
        aspects.setdefault((cell.benchmark, cell.level, cell.coefficient), cell)
    return list(aspects.values())


def ratings(cell, source="auto"):
    """People's ratings of an aspect, documents by systems."""
    human = nj.load(cell.benchmark, source).human()
    human = human[~human["system_id"].isin(cell.left_out)]
    return human.pivot(index="doc_id", columns="system_id", values=cell.aspect).to_numpy(float)


def texts(people, rng):
    """A study with other texts of the same kind, by the same systems: ratings and the judge's scores."""
    drawn = rng.integers(len(people), size=len(people))
    latent = _normal_scores(people)[drawn]
    error = rng.standard_normal(latent.shape)
    return people[drawn], CORRELATION * latent + np.sqrt(1 - CORRELATION**2) * error


def anew(people, rng):
    """A study with other texts by other systems: ratings and the judge's scores."""
    of_systems, of_documents = shares(people)
    documents, systems = people.shape
    study = planted(
        rng,
        documents=documents,
        systems=systems,
        correlations=(CORRELATION,),
        of_systems=of_systems,
        of_documents=of_documents,
    )
    given = np.sort(people[~np.isnan(people)])
    place = (stats.norm.cdf(study["human"].to_numpy()) * len(given)).astype(int)
    rated = given[np.minimum(place, len(given) - 1)].reshape(people.shape)
    missing = np.isnan(people)
    return np.where(missing, np.nan, rated), np.where(
        missing, np.nan, study["a"].to_numpy().reshape(people.shape)
    )


WORLDS = {"texts": (texts, "documents"), "anew": (anew, "both")}


def shares(people):
    """Shares of the ratings' variance that systems and documents have, on the normal scale."""
    return _shares_of(people.tobytes(), people.shape)


# Hundreds of studies are drawn from the same ratings.
@lru_cache(maxsize=8)
def _shares_of(content, shape):
    scores = _normal_scores_of(content, shape)
    documents, systems = scores.shape
    if systems == 1:
        return 0.0, 0.0
    of_document = np.nanmean(scores, axis=1, keepdims=True)
    of_system = np.nanmean(scores, axis=0, keepdims=True)
    rest = np.nansum((scores - of_document - of_system + np.nanmean(scores)) ** 2)
    rest /= (documents - 1) * (systems - 1)
    found = np.maximum(
        [of_system.var(ddof=1) - rest / documents, of_document.var(ddof=1) - rest / systems], 0
    )
    return tuple((found / (found.sum() + rest)).tolist())


def _normal_scores(people):
    """Ratings as quantiles of the normal distribution; equal ratings share one, and the variance is 1."""
    return _normal_scores_of(people.tobytes(), people.shape)


@lru_cache(maxsize=8)
def _normal_scores_of(content, shape):
    people = np.frombuffer(content).reshape(shape)
    ranks = stats.rankdata(people, axis=None, nan_policy="omit").reshape(people.shape)
    scores = stats.norm.ppf((ranks - 0.5) / np.isfinite(people).sum())
    return (scores - np.nanmean(scores)) / np.nanstd(scores)


def value(people, scores, level, coefficient):
    """The correlation of a study."""
    if level == "sample":
        return np.nanmean(grouped(scores, people, coefficient))
    if level == "system":
        scores, people = (np.nanmean(one, axis=0) for one in (scores, people))
    return grouped(scores.reshape(1, -1), people.reshape(1, -1), coefficient)[0]


def truth(people, draw, level, coefficient, *, rng, studies=1500):
    """Mean of the correlation over studies, and its standard error."""
    found = np.array([value(*draw(people, rng), level, coefficient) for _ in range(studies)])
    return np.nanmean(found), np.nanstd(found) / np.sqrt(studies)


def coverage(
    cells,
    world,
    *,
    repetitions=300,
    resamples=500,
    studies=1500,
    seed=0,
    method="bca",
    source="auto",
):
    """How often the interval of each cell holds its true value.

    Parameters
    ----------
    cells : list of Cell
    world : {"texts", "anew"}
    repetitions, resamples, studies, seed : int
    method : {"bca", "percentile"}
    source : {"auto", "real", "sample"}

    Returns
    -------
    pandas.DataFrame
        The cells with `documents, systems, world, truth, error` (of the truth), `held, repetitions, width`.
    """
    draw, units = WORLDS[world]
    lines = []
    for cell in cells:
        people = ratings(cell, source)
        rng = np.random.default_rng(
            [seed, zlib.crc32(repr(cell).encode())]
        )  # cells have studies of their own
        true, error = truth(people, draw, cell.level, cell.coefficient, rng=rng, studies=studies)
        held = 0
        width = []
        for _ in range(repetitions):
            study = frame_of(*draw(people, rng))
            found = nj.interval(
                study,
                "judge",
                "human",
                rng=rng,
                level=cell.level,
                coefficient=cell.coefficient,
                units=units,
                resamples=resamples,
                method=method,
            )
            held += bool(found.low <= true <= found.high)
            width.append(found.high - found.low)
        lines.append(
            {
                **cell._asdict(),
                "documents": len(people),
                "systems": people.shape[1],
                "world": world,
                "truth": true,
                "error": error,
                "held": held,
                "repetitions": repetitions,
                "width": np.mean(width),
            }
        )
    return pd.DataFrame(lines)


def frame_of(people, scores):
    """A study as `nj.interval` takes it, without the items that nobody rated."""
    documents, systems = people.shape
    frame = pd.DataFrame(
        {
            "doc_id": np.repeat(np.arange(documents), systems),
            "system_id": np.tile(np.arange(systems), documents),
            "human": people.ravel(),
            "judge": scores.ravel(),
        }
    )
    return frame.dropna()


def main():
    """Write the coverage of every cell as CSV."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--all-aspects", action="store_true", help="not the first of each benchmark alone"
    )
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--world", choices=WORLDS, action="append")
    parser.add_argument("--method", choices=("bca", "percentile"), default="bca")
    options = parser.parse_args()
    tables = printed_cells()
    chosen = list(tables) if options.all_aspects else first_aspects(tables)
    header = True
    for world in options.world or WORLDS:
        for cell in chosen:
            line = coverage(
                [cell],
                world,
                repetitions=options.repetitions,
                resamples=options.resamples,
                method=options.method,
            )
            line = line.assign(method=options.method, tables="; ".join(tables[cell]))
            line.to_csv(sys.stdout, index=False, header=header)
            sys.stdout.flush()
            header = False


if __name__ == "__main__":
    main()
