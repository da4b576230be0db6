"""`nlgjudge rerun --metrics`: planned, refused, and the whole path with random models made here."""

import pandas as pd
import pytest
from scipy import stats

import nlgjudge as nj
from nlgjudge.data.paths import root
from nlgjudge.ledger.metric_runs import run_metrics
from nlgjudge.metrics import neural, weights
from nlgjudge.repo import cli, exits


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A checkout of its own, with the sample and no other data; no hub."""
    made = tmp_path / "house"
    for name in ("data/registry.csv", "data/sample", "data/README.md", "paper_tables/published"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).symlink_to(root() / name)
    for name, value in {"ROOT": str(made), "OFFLINE": "1", "MIRROR": ""}.items():
        monkeypatch.setenv(f"NLGJUDGE_{name}", value)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(weights, "_cached", lambda name: False)
    return made


@pytest.fixture
def save(tmp_path):
    """Save a random model below a folder of weights, under a name."""
    pytest.importorskip("torch", reason="needs the extra neural")
    pytest.importorskip("transformers", reason="needs the extra neural")
    import tiny_models

    items = nj.load("summeval", "sample").items
    words = sorted(
        {word for text in [*items["source"], *items["hypothesis"]] for word in text.split()}
    )

    def made(kind, name, seed=0):
        tiny_models.save(kind, tmp_path / "weights" / name, words, seed)
        return tmp_path / "weights" / name

    return made


def tiny(monkeypatch, name, kind):
    """Let a paper's model have the size of a tiny one."""
    monkeypatch.setitem(weights.MODELS, name, weights.Model(0.1, kind, 2, 16))


def test_a_plan_names_every_model_and_what_is_left_out(house, capsys):
    assert (
        cli.main(["rerun", "--metrics", "chatgpt/table1", "geval/table2", "--plan"]) == exits.DONE
    )
    said = capsys.readouterr().out
    assert (
        "facebook/bart-large-cnn (1.6 GB, missing)" in said
        and "MingZhong/unieval-dialog (3.1 GB, missing)" in said
    )
    assert "left out: MoverScore (chatgpt/table1): no maintained implementation" in said
    assert "left out: PRISM (chatgpt/table1): no maintained implementation" in said
    assert "no paper's model, so that the cells enter no ledger: BERTScore on topical_chat" in said
    assert not (house / "build").exists()


def test_a_plan_counts_pairs_and_questions(house):
    plan = run_metrics("geval", ["table1"], source="sample", only_plan=True).plan
    items = nj.load("summeval", "sample").items
    counts = plan["texts"].droplevel(["dataset", "tables"])
    assert counts["BERTScore"] == items["references"].map(len).sum() and counts["BARTScore"] == len(
        items
    )
    assert counts["UniEval"] > 4 * len(items) and counts["MOVERSscore"] == 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["chatgpt/table1", "--model", "BertScore=x"],
            "no row that needs weights 'BertScore': did you mean 'BERTScore'",
        ),
        (
            ["chatgpt/table1", "--model", "PRISM=x"],
            "PRISM is not computed: no maintained implementation",
        ),
        (["chatgpt/table1", "--model", "bert-base-uncased"], "expected ROW=NAME_OR_FOLDER"),
        (["chatgpt/table11"], "no table 'table11': did you mean 'table1'"),
    ],
)
def test_a_slip_is_named(house, capsys, arguments, message):
    assert cli.main(["rerun", "--metrics", *arguments]) == exits.FAILED
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--metrics", "--judge", "openai:m"], "--judge is for a judge, and --metrics asks none"),
        (["--metrics", "--temperature", "0"], "--temperature is for a judge"),
        (["--metrics", "--keep"], "--keep is for a judge, and --metrics asks none"),
        (
            ["--judge", "openai:m", "--weights", "here"],
            "--weights is for weights: give --metrics with it",
        ),
        (
            ["--judge", "openai:m", "--device", "cpu"],
            "--device is for weights: give --metrics with it",
        ),
    ],
)
def test_options_of_the_other_half_are_refused(capsys, arguments, message):
    assert cli.main(["rerun", "geval", *arguments]) == exits.FAILED
    assert message in capsys.readouterr().err


def test_missing_weights_are_a_line_for_each_model(house, save, capsys):
    assert cli.main(["rerun", "--metrics", "chatgpt/table6"]) == exits.FAILED
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("nlgjudge: ")]
    assert len(lines) == 4 and not (house / "build").exists()
    for name, size in (
        ("roberta-large", "1.4 GB"),
        ("bart-large", "1.0 GB"),
        ("bart-large-cnn", "1.6 GB"),
    ):
        (line,) = [one for one in lines if f"{name} ({size})" in one]
        assert "--weights FOLDER" in line


def test_the_whole_path_with_the_papers_models(house, save, tmp_path, monkeypatch, capsys):
    """CoAScore's Table 3 on the sample: cells equal correlations by hand; one missing model leaves the rest."""
    tiny(monkeypatch, "bert-base-uncased", "bert")
    place = save("bert", "bert-base-uncased")
    layers = [
        row._replace(options=row.options | {"layer": 2}) if row.metric == "bertscore" else row
        for row in nj.coascore.METRIC_ROWS
    ]
    monkeypatch.setattr(nj.coascore, "METRIC_ROWS", layers)
    arguments = [
        "rerun",
        "--metrics",
        "coascore/table3",
        "--weights",
        str(place.parent),
        "--device",
        "cpu",
        "--batch-size",
        "5",
    ]
    assert cli.main(arguments) == exits.FAILED  # BARTScore's weights are not there
    out, err = capsys.readouterr()
    assert (
        "facebook/bart-base (0.6 GB) is not in" in err
        and "coascore table3 BERTScore" in " ".join(out.split())
    )
    assert "the items are the sample's, not the papers'" in out
    folder = house / "build" / "reruns" / "metrics" / "papers-models"
    assert {path.name for path in folder.iterdir()} == {"cells.csv", "index.html", "plan.csv"}
    cells = pd.read_csv(folder / "cells.csv")
    assert set(cells["row"]) == {"BERTScore"} and set(cells["verdict"]) == {"not_run"}
    assert (
        cells["ours"].isna().all()
    )  # the sample's values are shown on the page, and kept in no table
    cells = run_metrics("coascore", ["table3"], folder=place.parent, resamples=0).cells
    benchmark = nj.load("summeval", "sample")
    scores = nj.metrics.bertscore(benchmark.items, str(place), layer=2).set_index("item_id")[
        "bertscore-f"
    ]
    people = benchmark.human().set_index("item_id")
    function = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    checked = cells[cells["aspect"] != "AVG"]
    assert len(checked) >= 4
    for cell in checked.itertuples():
        assert cell.level in ("dataset", "sample")
        both = people.assign(score=scores)
        groups = [both] if cell.level == "dataset" else [part for _, part in both.groupby("doc_id")]
        values = [
            function[cell.coefficient](part["score"], part[cell.aspect])[0]
            for part in groups
            if part[cell.aspect].nunique() > 1
        ]
        assert cell.ours == pytest.approx(sum(values) / len(values), abs=1e-5)


def test_a_model_of_ones_own_is_no_papers_model(house, save, capsys):
    place = save("bert", "mine")
    assert (
        cli.main(
            [
                "rerun",
                "--metrics",
                "chatgpt/table6",
                "--model",
                f"BERTScore={place}",
                "--limit",
                "20",
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert "mine is no paper's model" in out and "a rehearsal on the first 20 items" in out
    assert "these cells enter no ledger" in out
    (folder,) = (house / "build" / "reruns" / "metrics").iterdir()
    cells = pd.read_csv(folder / "cells.csv", keep_default_na=False)
    assert (
        folder.name.startswith("mine-")
        and set(cells["row"]) == {"BERTScore"}
        and set(cells["evidence"]) == {"none"}
    )
    assert "no paper&#x27;s model" in (folder / "index.html").read_text()


def test_the_papers_model_on_real_items_is_recomputed(save, tmp_path, monkeypatch):
    """And a model that no source names is not, nor is one of the user's; their cells bear no verdict."""
    if nj.load("topical_chat").is_sample:
        pytest.skip("Topical-Chat is not here")
    monkeypatch.setenv("NLGJUDGE_ROOT", str(root()))
    for name, kind in (("MingZhong/unieval-dialog", "t5"), ("roberta-large", "bert")):
        tiny(monkeypatch, name, kind)
        save(kind, name.rpartition("/")[2])
    monkeypatch.setattr(
        nj.geval,
        "METRIC_ROWS",
        [
            row._replace(options=row.options | {"layer": 2}) if row.metric == "bertscore" else row
            for row in nj.geval.METRIC_ROWS
        ],
    )
    monkeypatch.setattr("nlgjudge.metrics.cached.cache", lambda: tmp_path / "cache")
    found = run_metrics("geval", ["table2"], folder=tmp_path / "weights", resamples=0)
    by_row = found.cells.groupby("row")["evidence"].unique().map(list).to_dict()
    assert by_row == {"UniEval": ["recomputed"], "BERTScore": ["none"]} and not found.enters
    assert set(found.cells.loc[found.cells["row"] == "BERTScore", "verdict"]) == {"not_run"}
    assert "not_run" not in set(found.cells.loc[found.cells["row"] == "UniEval", "verdict"])
    alone = run_metrics(
        "geval",
        ["table2"],
        models={"UniEval": str(tmp_path / "weights" / "unieval-dialog")},
        resamples=0,
    )
    assert (
        set(alone.cells["evidence"]) == {"none"}
        and alone.cells["note"].str.contains("no paper's model").all()
    )
    monkeypatch.setattr(
        nj.geval, "METRIC_ROWS", [row for row in nj.geval.METRIC_ROWS if row.metric == "unieval"]
    )
    whole = run_metrics("geval", ["table2"], folder=tmp_path / "weights", resamples=0)
    assert whole.enters and not whole.said
    assert not run_metrics(
        "geval", ["table2"], folder=tmp_path / "weights", resamples=0, limit=60
    ).enters


def test_devices_and_batches_are_checked():
    with (
        pytest.raises(ValueError, match="device='tpu': expected one of auto, cpu, cuda"),
        neural.running("tpu"),
    ):
        pass
    with (
        pytest.raises(ValueError, match="batch_size=0: expected a whole number"),
        neural.running("cpu", 0),
    ):
        pass
