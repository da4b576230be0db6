"""The ledger: every printed correlation beside ours, with verdict, evidence and cause."""

import csv

import numpy as np
import pandas as pd

from nlgjudge.data.choices import unknown
from nlgjudge.data.paths import SAMPLE_NOTICE, out, root, use
from nlgjudge.ledger.printed import KEY, all_published
from nlgjudge.stats.bootstrap import mean_interval

COLUMNS = ["paper", "artefact", *KEY, "published", "ours", "ci_low", "ci_high", "n", "n_skipped",
           "difference", "verdict", "evidence", "variant", "notebook", "note"]
VERDICTS = ["exact", "close", "within_ci", "differs", "sign_flipped", "relabelled", "not_run"]
EVIDENCE = ["recomputed", "released_scores", "released_responses", "rejudged", "substitute_judge", "none"]
# Evidence from another model than the paper's: such a cell is no reproduction, and none that failed.
ANOTHER_MODEL = ["substitute_judge", "rejudged"]
# Judges that are no model, by the first part of their names.
RULES = ["surface", "simulated", "chained"]
CLOSE = 0.01
DIGITS = 6  # of our values in the ledger


def verdict(printed, ours, ci=(np.nan, np.nan)):
    """Judge one cell.

    Parameters
    ----------
    printed : str
        As printed; empty for a dash or a lost cell.
    ours : float
    ci : (float, float)
        Interval of ours, NaN where there is none.

    Returns
    -------
    str
        `exact`: ours rounds to the printed digits. `close`: at most 0.01 away.
        `sign_flipped`: exact or close after a change of sign. `within_ci`: printed lies in
        our interval. `differs` otherwise, `not_run` where either value is missing.
    """
    if not printed or np.isnan(ours):
        return "not_run"
    value, digits = float(printed), len(printed.partition(".")[2])
    # A hair of slack, so that a value on the rounding edge is not lost to binary floats.
    if abs(ours - value) <= 0.5 * 10**-digits + 1e-9:
        return "exact"
    if abs(ours - value) <= CLOSE + 1e-9:
        return "close"
    if abs(ours + value) <= CLOSE + 1e-9:
        return "sign_flipped"
    return "within_ci" if ci[0] <= value <= ci[1] else "differs"


def is_rule(judge):
    """Tell whether a judge is a rule or a simulation, and no model.

    Parameters
    ----------
    judge : str or object
        A name as for `nlgjudge.judging.run.get_judge`, or a judge with a `name`.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_rule("surface"), is_rule("chained:surface"), is_rule("openai:MODEL")
    (True, True, False)
    """
    return _name(judge).partition(":")[0] in RULES


def entered(enter_as, judge, known):
    """Say under which printed rows a judge is entered: under those alone that the user has named.

    Call it before the judge is asked, so that a slip of the pen costs nothing.

    Parameters
    ----------
    enter_as : str or list of str
        The rows' labels as printed; empty for none.
    judge : str or object
        A name as for `nlgjudge.judging.run.get_judge`, or a judge with a `name`.
    known : iterable of str
        Rows that the notebook asks the judge for.

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        For a row that is not among them, for rows without a judge, and for a judge that is a rule.

    Examples
    --------
    >>> entered("", "surface", ["G-EVAL-3.5", "G-EVAL-4"])
    []
    >>> entered("G-EVAL-4", "openai:MODEL", ["G-EVAL-3.5", "G-EVAL-4"])
    ['G-EVAL-4']
    """
    rows = [enter_as] if isinstance(enter_as, str) else list(enter_as)
    rows = [row for row in rows if row]
    if not rows:
        return []
    if not _name(judge):
        raise ValueError(f"enter_as={enter_as!r}: no judge is given; name one, as openai:MODEL, "
                         "or leave enter_as empty")
    _refuse_rules([judge])
    known = list(known)
    for row in rows:
        if row not in known:
            raise ValueError(f"enter_as={enter_as!r}: {unknown('printed row', row, known)}")
    return list(dict.fromkeys(rows))


def ledger_note(judge, rows, rated, items, *, sample=False):
    """Say whether a judge's numbers go into the ledger, and if not why.

    Parameters
    ----------
    judge : str or object
        A name as for `nlgjudge.judging.run.get_judge`, or a judge with a `name`.
    rows : list of str
        From `entered`.
    rated, items : int
        How many items the judge rated, and how many there are.
    sample : bool
        Whether they are the sample's.

    Returns
    -------
    str

    Examples
    --------
    >>> ledger_note("surface", [], 72, 72)
    'surface is a rule, so it is in no row of the ledger'
    >>> ledger_note("openai:MODEL", [], 72, 72)
    'openai:MODEL is in no row of the ledger, because enter_as names none'
    >>> ledger_note("openai:MODEL", ["G-EVAL-4"], 10, 72)
    'openai:MODEL rated 10 of 72 items, so it is in no row of the ledger'
    >>> ledger_note("openai:MODEL", ["G-EVAL-4"], 72, 72)
    'openai:MODEL is in the ledger under G-EVAL-4'
    """
    name = _name(judge)
    if is_rule(judge):
        return f"{name} is a rule, so it is in no row of the ledger"
    if not rows:
        return f"{name} is in no row of the ledger, because enter_as names none"
    if rated < items:
        return f"{name} rated {rated:,} of {items:,} items, so it is in no row of the ledger"
    if sample:
        return f"{name} rated the sample, so it is in no row of the ledger"
    return f"{name} is in the ledger under {', '.join(rows)}"


def compare(paper, artefact, table, ours, *, evidence, notebook, sample=False, judge=""):
    """Set our values against a printed table.

    Parameters
    ----------
    paper, artefact : str
    table : pandas.DataFrame
        From `nlgjudge.ledger.printed.published`.
    ours : pandas.DataFrame
        `row, dataset, aspect, level, coefficient, ours`; optionally `ci_low, ci_high, n,
        n_skipped, variant, evidence, note, judge`, and `relabelled`, true where `ours` is another
        coefficient than the column's head says. Printed averages are added if it has none.
    evidence : str
        For rows without their own, one of `EVIDENCE`.
    notebook : str
        Name of the notebook that calls.
    sample : bool
        Whether the values come from the sample; they are then kept out of the ledger.
    judge : str or object, optional
        For rows without their own, the judge whose replies stand for the paper's: its name, or
        the judge. Needed where the evidence is one of `ANOTHER_MODEL`; it is the variant where
        none is given.

    Returns
    -------
    pandas.DataFrame
        The ledger's columns, a row per printed cell that we have a value for.

    Raises
    ------
    ValueError
        For repeated cells, rows or cells that the table does not print, unknown evidence, and
        another model's cells without its name or with that of a rule.
    """
    _check(paper, artefact, table, ours, evidence)
    ours = _with_judges(ours, evidence, judge)
    if "AVG" not in set(ours["aspect"]):
        ours = pd.concat([ours, averages(table, ours)], ignore_index=True)
    rows = table.rename(columns={"note": "note_printed"}).merge(ours, on=KEY, validate="1:1")
    rows = rows.assign(paper=paper, artefact=artefact, notebook=notebook, published=rows["printed"])
    for column in ("ci_low", "ci_high", "n", "n_skipped"):
        rows[column] = rows.get(column, np.nan)
    for column, default in (("variant", ""), ("note", ""), ("evidence", evidence)):
        rows[column] = rows[column].fillna(default) if column in rows else default
    rows["difference"] = rows["ours"] - rows["value"]
    rows["verdict"] = [verdict(r.published, r.ours, (r.ci_low, r.ci_high)) for r in rows.itertuples()]
    if "relabelled" in rows:
        other = rows["relabelled"].eq(True) & rows["verdict"].isin(["exact", "close"])
        rows.loc[other, "verdict"] = "relabelled"
    empty = rows["published"] == ""
    rows.loc[empty, "note"] = rows.loc[empty, "note_printed"]
    if sample:
        rows[["verdict", "evidence", "note"]] = ["not_run", "none", SAMPLE_NOTICE]
    return rows[COLUMNS]


def averages(table, ours, frames=None, **options):
    """Average our cells as the table averages its own.

    A printed average is the mean of the row's cells at its level and coefficient; QAGS
    averages over its two parts.

    Parameters
    ----------
    table, ours : pandas.DataFrame
        As for `compare`; with `frames`, `ours` has the column `metric` too.
    frames : dict of str to pandas.DataFrame, optional
        Scores by dataset, for intervals.
    **options
        Of `nlgjudge.stats.bootstrap.mean_interval`: `rng` and others.

    Returns
    -------
    pandas.DataFrame
        `row, dataset, aspect, level, coefficient, ours` of the averages that can be formed, and
        with `frames` `ci_low, ci_high`.
    """
    group = ["row", "level", "coefficient"]
    wanted = table[table["aspect"] == "AVG"].drop_duplicates(KEY)
    parts = table[table["aspect"] != "AVG"].merge(ours, on=KEY, how="left", suffixes=("_printed", ""))
    found = parts.groupby(group, sort=False).agg(
        ours=("ours", lambda v: v.mean() if v.notna().all() else np.nan))
    for column in ("variant", "evidence", "note", "judge", "relabelled"):
        if column in ours:
            found[column] = parts.groupby(group, sort=False)[column].agg(
                lambda v: v.iloc[0] if v.nunique(dropna=False) == 1 else None)
    found = wanted[KEY].merge(found.reset_index(), on=group).dropna(subset=["ours"])
    if frames is None:
        return found
    cells = {key: [(frames[c.dataset], c.metric, c.aspect) for c in part.itertuples()]
             for key, part in parts.groupby(group)}
    bounds = [mean_interval(cells[r.row, r.level, r.coefficient], level=r.level, coefficient=r.coefficient,
                            **options)[1:3] for r in found.itertuples()]
    return found.assign(ci_low=[low for low, _ in bounds], ci_high=[high for _, high in bounds])


def write(rows):
    """Save a notebook's part of the ledger.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `compare`, of one or several tables, by one notebook.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ValueError
        When a cell that is neither exact nor close has no note.
    """
    silent = rows[~rows["verdict"].isin(["exact", "close"]) & (rows["note"].str.strip() == "")]
    if len(silent):
        raise ValueError(f"{len(silent)} cells are neither exact nor close and name no cause, "
                         f"first {silent[KEY].iloc[0].tolist()}: give a note for their row")
    notebook, = rows["notebook"].unique()
    sample = bool((rows["note"] == SAMPLE_NOTICE).any())
    if sample:  # a note of the notebook's own must not carry a sample's value into the ledger
        rows = rows.assign(note=SAMPLE_NOTICE)
    path = out(sample) / "ledger"
    path.mkdir(parents=True, exist_ok=True)
    _to_csv(rows, path / f"{notebook}.csv")
    return path / f"{notebook}.csv"


def merge(parts):
    """Join the notebooks' parts with the cells that nobody ran.

    Parameters
    ----------
    parts : list of pathlib.Path
        From `write`. A cell that two notebooks ran keeps the better evidence, in the
        order of `EVIDENCE`.

    Returns
    -------
    pandas.DataFrame
        One row per printed cell of all papers, in the papers' order.
    """
    cells = all_published()
    key = ["paper", "artefact", *KEY]
    ran = pd.concat([read(p) for p in parts] or [pd.DataFrame(columns=COLUMNS)])
    rank = ran["evidence"].map(EVIDENCE.index)
    ran = ran.assign(rank=rank).sort_values("rank", kind="stable").drop_duplicates(key)
    rows = cells[[*key, "printed", "note"]].merge(
        ran.drop(columns="published"), on=key, how="left", suffixes=("_printed", ""))
    absent = rows["verdict"].isna()
    rows.loc[absent, ["verdict", "evidence", "variant", "notebook"]] = ["not_run", "none", "", ""]
    rows.loc[absent, "note"] = _needs(rows[absent])
    return rows.rename(columns={"printed": "published"})[COLUMNS]


def keep_committed(rows, committed, names):
    """Keep the committed value of cells that their notebook could not compute here.

    Parameters
    ----------
    rows, committed : pandas.DataFrame
        The ledger of this run, and the one in `paper_tables/`.
    names : collection of str
        Notebooks that lacked some of their data.

    Returns
    -------
    rows : pandas.DataFrame
    kept : dict of str to int
        By notebook, how many cells were kept.
    """
    key = ["paper", "artefact", *KEY]
    before = committed.set_index(key)
    index = pd.MultiIndex.from_frame(rows[key])
    notebook = before["notebook"].reindex(index)
    absent = (rows["verdict"] == "not_run").to_numpy() & notebook.isin([*names]).to_numpy()
    kept = before.reindex(index)[absent].reset_index()
    same = (kept["published"] == rows.loc[absent, "published"].to_numpy()).to_numpy()
    chosen = rows.index[absent][same]
    rows = rows.astype(object)
    rows.loc[chosen, COLUMNS] = kept.loc[same, COLUMNS].astype(object).to_numpy()
    return rows.infer_objects(), kept.loc[same, "notebook"].value_counts().to_dict()


def changes(before, after):
    """Cells in which two ledgers differ.

    Parameters
    ----------
    before, after : pandas.DataFrame
        From `read`.

    Returns
    -------
    pandas.DataFrame
        `paper, artefact` and the cell's key; `what` differs (the first of `COLUMNS`, a note last),
        `committed` and `here`.
    """
    key = ["paper", "artefact", *KEY]
    old, new = before.set_index(key), after.set_index(key)
    found = []
    for cell in old.index.union(new.index, sort=False):
        if cell not in old.index or cell not in new.index:
            here = ["there" if cell in side.index else "absent" for side in (old, new)]
            found.append((*cell, "cell", *here))
    shared = old.index.intersection(new.index, sort=False)
    old, new = _texts(old.loc[shared]), _texts(new.loc[shared])
    differ = old.ne(new)
    order = ["verdict", "ours", *(c for c in differ if c not in ("verdict", "ours", "note")), "note"]
    for cell, row in differ[differ.any(axis=1)].iterrows():
        what = next(column for column in order if row[column])
        found.append((*cell, what, old.loc[cell, what], new.loc[cell, what]))
    return pd.DataFrame(found, columns=[*key, "what", "committed", "here"])


def _texts(rows):
    """Every value as text, a missing one as nothing, so that two missing ones are equal."""
    return rows.astype(object).where(rows.notna(), "").astype(str)


def read(path):
    """Read a ledger or a part of one, with `published` and notes as strings."""
    text = ["published", "variant", "notebook", "note", "evidence", "verdict"]
    frame = pd.read_csv(path, dtype=dict.fromkeys(text, str), keep_default_na=False,
                        na_values={c: [""] for c in COLUMNS if c not in text and c not in KEY})
    return frame[COLUMNS]


def save(rows, path):
    """Write a ledger."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _to_csv(rows, path)


def _name(judge):
    """A judge's name, from itself or as it is."""
    return judge if isinstance(judge, str) else str(getattr(judge, "name", type(judge).__name__))


def _refuse_rules(judges):
    for judge in judges:
        if is_rule(judge):
            raise ValueError(f"judge {_name(judge)!r} is a rule, no model: it stands for no printed row. "
                             "Show its numbers beside the table")


def _with_judges(ours, evidence, judge):
    """Name the judge of each row that rests on another model, and give it as variant where there is none."""
    given = ours["evidence"].fillna(evidence) if "evidence" in ours else pd.Series(evidence, ours.index)
    names = pd.Series(_name(judge), ours.index)
    if "judge" in ours:
        names = ours["judge"].map(_name, na_action="ignore").fillna(_name(judge))
    another = given.isin(ANOTHER_MODEL)
    nameless = another & (names == "")
    if nameless.any():
        raise ValueError(f"evidence {given[nameless].iloc[0]}: name the judge that gave the replies, by "
                         "compare(..., judge=NAME) or in a column `judge`")
    _refuse_rules(names[another].unique())
    ours = ours.drop(columns="judge", errors="ignore")
    variants = ours["variant"].fillna("") if "variant" in ours else pd.Series("", ours.index)
    if another.any():
        ours = ours.assign(variant=variants.where(~another | (variants != ""), names))
    return ours


def _check(paper, artefact, table, ours, evidence):
    strange = {evidence, *ours.get("evidence", pd.Series(dtype=str)).dropna()} - set(EVIDENCE)
    if strange:
        raise ValueError(f"evidence {sorted(map(str, strange))}: expected one of {EVIDENCE}")
    repeated = ours.duplicated(KEY)
    if repeated.any():
        raise ValueError(f"two values for {ours.loc[repeated, KEY].iloc[0].tolist()}")
    printed = list(dict.fromkeys(table["row"]))
    for row in dict.fromkeys(ours["row"]):
        if row not in printed:
            raise ValueError(f"{paper}, {artefact}: {unknown('printed row', row, printed)}")
    extra = ours[KEY].merge(table[KEY], how="left", indicator=True).query("_merge == 'left_only'")
    if len(extra):
        raise ValueError(f"{len(extra)} cells that the table does not print, first "
                         f"{extra[KEY].iloc[0].tolist()}")


def _to_csv(rows, path):
    rows = rows.copy()
    for column in ("ours", "ci_low", "ci_high", "difference"):
        rows[column] = pd.to_numeric(rows[column]).round(DIGITS) + 0.0  # no -0.0
    for column in ("n", "n_skipped"):
        rows[column] = pd.to_numeric(rows[column]).astype("Int64")
    hidden = rows["note"] == SAMPLE_NOTICE
    rows.loc[hidden, ["ours", "ci_low", "ci_high", "difference"]] = np.nan
    rows.loc[hidden, ["n", "n_skipped"]] = pd.NA
    rows.to_csv(path, index=False, lineterminator="\n")


def _needs(cells):
    """What a cell that nobody ran needs, from `paper_tables/needs.csv`; first match wins."""
    with open(use(root() / "paper_tables" / "needs.csv"), newline="", encoding="utf-8") as handle:
        rules = list(csv.DictReader(handle))
    return [_need(cell, rules) for cell in cells.itertuples()]


def _need(cell, rules):
    if not cell.printed:
        return cell.note_printed
    for rule in rules:
        if all(rule[f] in ("*", getattr(cell, f)) for f in ("paper", "artefact")) and \
                cell.row.startswith(rule["row"].rstrip("*")):
            return rule["needs"]
    raise ValueError(f"paper_tables/needs.csv has no rule for {cell.paper} {cell.artefact} {cell.row}")


def with_interval(rows, value="ours", *, digits=2):
    """Write values with their intervals.

    Parameters
    ----------
    rows : pandas.DataFrame
        The value's column and its bounds, `<value>_low` and `<value>_high` or else `ci_low` and
        `ci_high`; NaN where there is no interval.
    value : str
    digits : int
        Of the value; bounds have two.

    Returns
    -------
    pandas.Series of str
        As ``0.23 [0.06, 0.39]``.
    """
    own = value if f"{value}_low" in rows else "ci"
    bounds = zip(rows[value], rows[f"{own}_low"], rows[f"{own}_high"])
    return pd.Series([f"{v:.{digits}f}" + (f" [{low:.2f}, {high:.2f}]" if low == low else "")
                      for v, low, high in bounds], index=rows.index, dtype=object)


def side_by_side(rows):
    """Lay a comparison out as the paper's table, ours before the printed value.

    Returns
    -------
    pandas.DataFrame
        Indexed by `row`, columns by dataset (where there are several), aspect, level and
        coefficient; cells as ``0.014 (0.014)``, with ``-`` where the paper prints none, and
        with our interval between the two where there is one.
    """
    cell = with_interval(rows, digits=3) + rows["published"].map(lambda printed: f" ({printed or '-'})")
    columns = [c for c in KEY[1:] if rows[c].nunique() > 1]
    wide = rows.assign(cell=cell).pivot(index="row", columns=columns, values="cell")
    order = rows[columns].drop_duplicates()
    wide = wide[[tuple(c) if len(columns) > 1 else c[0] for c in order.itertuples(index=False)]]
    return wide.reindex(dict.fromkeys(rows["row"])).fillna("")
