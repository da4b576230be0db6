"""The ChatGPT study's score files, which few checkouts have, reach the ledger through the notebooks.

A whole checkout of random texts, ratings and scores in upstream's layout; some printed rows are
replaced by the correlations of known columns, so that the notebooks have a truth to find.
"""

import csv
import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import nlgjudge as nj
from nlgjudge.data import registry

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}
ASPECTS = {
    "bagel": ("informativeness", "naturalness", "quality"),
}
WORDS = [
    "the",
    "council",
    "votes",
    "bridge",
    "river",
    "closes",
    "opens",
    "on",
    "June",
    "rain",
    ".",
    "again",
]


def text(rng):
    return " ".join(rng.choice(WORDS, 6))


def scored(rng, aspects, way):
    """Ratings, and metrics that know them up to noise: the keys of the study's script, and others."""
    rating = {a: float(rng.integers(1, 6)) for a in aspects}
    mean = sum(rating.values()) / len(rating)
    keys = [
        "bert_score_p",
        "bert_score_r",
        "bert_score_f",
        "mover_score",
        "rouge1_f",
        f"prism_{way}",
        "prism_avg",
        *[f"bart_score{kind}_{w}" for kind in ("", "_cnn", "_para") for w in (way, "avg_f")],
    ]
    metrics = {k: mean + float(rng.normal(0, 1 + 0.2 * i)) for i, k in enumerate(keys)}
    stars = {
        f"chatgpt_{a}": float(np.clip(round(r + rng.normal()), 1, 5)) for a, r in rating.items()
    }
    return rating, {**rating, **metrics, **stars}


def bagel(rng):
    data, scores = {}, {}
    for n in range(404):
        output = {
            "src": f"inform({n % 202})",
            "sys_summ": text(rng),
            "ref_summs": [text(rng), text(rng)],
        }
        rating, given = scored(rng, ASPECTS["bagel"], "ref_hypo")
        data[n], scores[str(n)] = {**output, "scores": rating}, {**output, "scores": given}
    return data, scores


def frame(scores):
    """One row per output: `doc`, and its ratings and metrics."""
    return pd.DataFrame(
        [
            {"doc": name, **output["scores"]}
            for name, document in scores.items()
            for output in document.get("sys_summs", {"": document}).values()
        ]
    )


def correlated(found, column, aspect, level, coefficient):
    """The study's own arithmetic: all outputs at once, or the mean over documents that vary."""
    groups = (
        [found]
        if level == "dataset"
        else [
            g
            for _, g in found.groupby("doc")
            if g[column].nunique() > 1 and g[aspect].nunique() > 1
        ]
    )
    return np.mean([TESTS[coefficient](g[column], g[aspect])[0] for g in groups])


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Make a checkout with one benchmark's files and replaced printed rows; returns where results go."""

    def make(name, tables, data, scores, rows, rule):
        root = tmp_path / "checkout"
        shutil.copytree(REPOSITORY / "data" / "sample", root / "data" / "sample")
        shutil.copytree(REPOSITORY / "paper_tables", root / "paper_tables")
        (root / "notebooks").mkdir()
        monkeypatch.chdir(root / "notebooks")
        with open(root / "data" / "registry.csv", "w", newline="") as handle:
            out = csv.writer(handle)
            out.writerow(registry.Entry._fields)
            for path, role, content in (
                (f"{name}/data.pkl", "data", pickle.dumps(data)),
                (f"{name}/final_p.pkl", "scores", None),
                (f"data/{name}.json", "scores", json.dumps(scores).encode()),
                ("x_result.json", "scores", None),
            ):
                entry = registry.Entry(
                    name,
                    role,
                    "owner/name",
                    "c0ffee",
                    path,
                    registry.blob_id(content or b"elsewhere"),
                    "",
                    "",
                    "",
                )
                out.writerow(entry)
                if content:
                    target = root / "data" / "cache" / entry.location
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
        monkeypatch.delenv(
            "NLGJUDGE_CACHE", raising=False
        )  # the files lie in the checkout of this test
        for variable, value in {
            "ROOT": root,
            "MIRROR": "",
            "OFFLINE": "1",
            "OUT": tmp_path,
        }.items():
            monkeypatch.setenv(f"NLGJUDGE_{variable}", str(value))
        found = frame(scores)
        items = nj.load(name, "real").items
        for metric, variant, values in nj.metrics.rouge_variants(
            items, stemmers=(rule.split(", ")[2],)
        ):
            if f"{variant}, period".startswith(rule):
                found[metric] = values["score"].to_numpy()
        for table in tables:
            path = root / "paper_tables" / "published" / f"chatgpt_{table}.csv"
            print_ = pd.read_csv(path, dtype=str, keep_default_na=False)
            for i, cell in print_[print_["row"].isin(rows) & (print_["printed"] != "")].iterrows():
                over = ASPECTS[name] if cell["aspect"] == "AVG" else [cell["aspect"]]
                value = np.mean(
                    [
                        correlated(
                            found,
                            rows[cell["row"]].replace("*", aspect),
                            aspect,
                            cell["level"],
                            cell["coefficient"],
                        )
                        for aspect in over
                    ]
                )
                print_.loc[i, "printed"] = f"{value:.3f}"
            print_.to_csv(path, index=False)
        return tmp_path

    return make


ROUGE = {"ROUGE-1": "rouge1", "ROUGE-2": "rouge2", "ROUGE-L": "rougeL"}
CASES = {  # notebook, tables, writer, the rule of its ROUGE rows, and the columns behind planted rows
    "bagel": (
        "chatgpt_table7_bagel",
        ("table7",),
        bagel,
        "p, max, porter, period",
        {
            "BERTScore": "bert_score_p",
            "BARTScore": "bart_score_ref_hypo",
            "ChatGPT (Stars w/ ref)": "chatgpt_*",
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_released_scores_fill_their_rows_and_no_other(checkout, run_cells, name):
    notebook, tables, write, rule, rows = CASES[name]
    checkout(name, tables, *write(np.random.default_rng(1)), ROUGE | rows, rule)
    made = run_cells(notebook, until="changes", stemmers=[rule.split(", ")[2]])["table"].rows
    planted = made[made["row"].isin(rows)]
    assert set(planted["row"]) == set(rows) and set(planted["artefact"]) == set(tables)
    assert set(planted["verdict"]) == {"exact"} and set(planted["evidence"]) == {"released_scores"}
    columns = planted.groupby("row")["variant"].unique().map(list).to_dict()
    assert columns == {
        row: ["released ratings" if "*" in c else f"chatgpt:{c}"] for row, c in rows.items()
    }
    chatgpt = {row for row in made["row"] if row.startswith("ChatGPT")}
    assert chatgpt == {row for row in rows if "*" in rows[row]}  # neither others nor the rule
    others = made[~made["row"].isin([*rows, *ROUGE])]  # still the paper's print: no column fits it
    assert len(set(others["row"])) == 4 and others["variant"].str.startswith("nearest: ").all()
    assert not (others["verdict"] == "exact").all()


def test_released_ratings_that_fit_no_printed_row_are_left_out(checkout, run_cells):
    notebook, tables, write, rule, _ = CASES["bagel"]
    checkout("bagel", tables, *write(np.random.default_rng(2)), ROUGE, rule)
    made = run_cells(notebook, until="changes", stemmers=["porter"])["table"].rows
    assert not made["row"].str.startswith("ChatGPT").any()
    assert len(set(made["row"])) == 3 + 6
