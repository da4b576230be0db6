"""The ChatGPT study's scores, which few checkouts have, reach the ledger through the notebook of their table.

Some published values are replaced by the correlations of known columns, so that the notebook has a truth to find.
"""

import shutil

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgjudge.data import paths
from nlgjudge.data.schema import Benchmark

TESTS = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}
# By published row, the column behind it.
ROWS = {
    "BERTScore": "chatgpt:bert_score_p",
    "BARTScore": "chatgpt:bart_score_ref_hypo",
    "ChatGPT (Stars w/ ref)": "chatgpt:chatgpt",
}
OTHERS = [f"prism_{way}" for way in ("ref_hypo", "avg")]
OTHERS += [f"bart_score{kind}_avg_f" for kind in ("", "_cnn", "_para")]
OTHERS += ["bert_score_r", "bert_score_f", "mover_score"]


def scores_of(sentences):
    """Metrics and stars that know people's ratings up to noise."""
    rng = np.random.default_rng(1)
    human = sentences.human().set_index("item_id")[sentences.aspects]
    metrics = [f"chatgpt:{name}" for name in OTHERS] + list(ROWS.values())[:2]
    scores = {
        name: human.mean(axis=1) + rng.normal(0, 1 + 0.2 * nth, len(human))
        for nth, name in enumerate(metrics)
    }
    for aspect in human:
        stars = (human[aspect] + rng.normal(size=len(human))).round().clip(1, 5)
        scores[f"chatgpt:chatgpt:{aspect}"] = stars
    return pd.DataFrame(scores).reset_index()


def with_planted(cells, scores, sentences):
    """The published table, in which the rows have their columns' values."""
    frame = scores.merge(sentences.human(), on="item_id")
    for place, cell in cells[cells["row"].isin(ROWS) & (cells["printed"] != "")].iterrows():
        column, values = ROWS[cell["row"]], []
        for aspect in sentences.aspects if cell["aspect"] == "AVG" else [cell["aspect"]]:
            own = f"{column}:{aspect}" if column == "chatgpt:chatgpt" else column
            values.append(TESTS[cell["coefficient"]](frame[own], frame[aspect])[0])
        cells.loc[place, "printed"] = f"{np.mean(values):.3f}"
    return cells


@pytest.fixture
def run(house, real, run_cells, tmp_path, monkeypatch):
    """The notebook's cells by these scores, with the rows planted or as published."""
    sentences = real("bagel")
    scores = scores_of(sentences)
    tables = house / "paper_tables" / "published"
    tables.unlink()
    shutil.copytree(paths.root() / "paper_tables" / "published", tables)
    for name, value in {"MIRROR": paths.mirror(), "CACHE": paths.cache(), "OUT": tmp_path}.items():
        monkeypatch.setenv(f"NLGJUDGE_{name}", str(value))
    monkeypatch.setenv("NLGJUDGE_ROOT", str(house))
    monkeypatch.chdir(house / "notebooks")
    monkeypatch.setattr(Benchmark, "released", lambda self: scores)

    def rows(planted):
        path = tables / "chatgpt_table7.csv"
        if planted:
            cells = pd.read_csv(path, dtype=str, keep_default_na=False)
            with_planted(cells, scores, sentences).to_csv(path, index=False)
        notebook = run_cells("chatgpt_table7_bagel", until="way", stemmers=["porter"])
        return notebook["table"].rows

    return rows


def test_released_scores_fill_their_rows_and_no_other(run):
    cells = run(planted=True)
    planted = cells[cells["row"].isin(ROWS)]
    assert set(planted["row"]) == set(ROWS)
    assert set(planted["verdict"]) == {"exact"} and set(planted["evidence"]) == {"released_scores"}
    columns = planted.groupby("row")["variant"].unique().map(list).to_dict()
    stars = {"ChatGPT (Stars w/ ref)": "released ratings"}
    assert columns == {row: [name] for row, name in (ROWS | stars).items()}
    chatgpt = cells[cells["row"].str.startswith("ChatGPT")]
    assert set(chatgpt["row"]) == set(stars)  # of the four rows only the one that fits
    others = cells[~cells["row"].isin(ROWS) & ~cells["row"].str.startswith("ROUGE")]
    assert others["row"].nunique() == 4 and others["variant"].str.startswith("nearest: ").all()
    assert not (others["verdict"] == "exact").all()


def test_released_ratings_that_fit_no_published_row_are_left_out(run):
    cells = run(planted=False)
    assert not cells["row"].str.startswith("ChatGPT").any()
    assert cells["row"].nunique() == 3 + 6
