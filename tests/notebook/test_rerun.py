"""A judge that knows people's ratings finds a wrong aspect, subset, level, scale, join or sign in any row."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.ledger.printed import KEY
from nlgjudge.notebook import rerun_requests
from planted_judges import People

TABLES = [
    ("geval", ["table1"]),
    ("geval", ["table2"]),
    ("geval", ["table3"]),
    ("chatgpt", ["table1", "table4"]),
    ("chatgpt", ["table2", "table5"]),
    ("chatgpt", ["table3"]),
    ("chatgpt", ["table6"]),
    ("chatgpt", ["table7"]),
    ("coascore", ["table2"]),
    ("coascore", ["table3", "table12"]),
    ("coascore", ["table4", "table13"]),
    ("coascore", ["table5"]),
    ("coascore", ["table6"]),
    ("closer_look", ["table2", "table3", "table4"]),
]
# Documents that are judged of each dataset; they have 16, 24, 7, 5, 6 systems, or one. Nothing is estimated: every
# cell is compared with pandas' own value for the same items.
LIMITS = {
    "summeval": 3,
    "realsumm": 3,
    "newsroom": 7,
    "openmeva": 10,
    "topical_chat": 10,
    "bagel": 60,
    "qags_cnn": 60,
    "qags_xsum": 60,
}


load = cache(nj.load)  # one dataset serves several tables


def cells_by(judge, paper, artefacts):
    """The printed cells that a judge fills, on some of the items; on the sample's where no data are here."""
    parts = rerun_requests.parts_of(paper, artefacts)
    names = dict.fromkeys(part.scope.benchmark for part in parts)
    real = [load(name) for name in names if not load(name).is_sample]
    source = "auto" if real else "sample"
    benchmarks = real or [load(name, "sample") for name in names]
    limit = max((LIMITS.get(one.name, 0) for one in benchmarks), default=0)
    return nj.rerun(paper, artefacts, judge(benchmarks), source=source, limit=limit)


def by_hand(frame, aspect, level, coefficient):
    """The correlation over all items, or its mean over documents, by pandas alone."""
    both = [aspect, f"judge:{aspect}"]
    parts = [frame] if level == "dataset" else [part for _, part in frame.groupby("doc_id")]
    varying = [part[both] for part in parts if (part[both].nunique() > 1).all()]
    return np.mean([part.corr(coefficient).iloc[0, 1] for part in varying])


@pytest.mark.parametrize(
    "paper, artefacts", TABLES, ids=lambda value: value if isinstance(value, str) else value[0]
)
def test_peoples_own_ratings_reach_the_maximum_of_every_cell(paper, artefacts):
    """1 where the asked scale is fine enough, else what the same rounding allows, by pandas."""
    found = cells_by(People, paper, artefacts)
    assert found.cells["ours"].notna().all() and not found.counts["unread"].any()
    rows, datasets, _ = map(set, zip(*found.scores))
    printed = nj.published().query("row in @rows and dataset in @datasets and aspect != 'AVG'")
    printed = printed[printed["paper"].map(lambda key: nj.paper(key).key) == paper]
    printed = printed.query("artefact in @artefacts and printed != ''")
    cell = ["paper", "artefact", *KEY]
    reached = pd.MultiIndex.from_frame(found.cells[cell])
    assert pd.MultiIndex.from_frame(printed[cell]).isin(reached).all()
    frames = {(row, dataset): frame for (row, dataset, _), frame in found.scores.items()}
    for cell in found.cells[found.cells["aspect"] != "AVG"].itertuples():
        frame = frames[cell.row, cell.dataset]
        human, judge = frame[cell.aspect].to_numpy(), frame[f"judge:{cell.aspect}"].to_numpy()
        step = np.sign(np.subtract.outer(human, human) * np.subtract.outer(judge, judge))
        assert not (step == -1).any()  # a rounding never puts two items the other way round
        expected = by_hand(frame, cell.aspect, cell.level, cell.coefficient)
        assert cell.ours == pytest.approx(expected, abs=1e-9)
        is_fine = "Stars" not in cell.row and cell.dataset not in (
            "qags_cnn",
            "qags_xsum",
            "realsumm",
        )
        least = 0.9985 if is_fine else 0.55  # yes or no, stars, whole numbers
        assert cell.ours > least, cell


@pytest.mark.parametrize(
    "paper, artefacts, only, printed",
    [
        ("geval", ["table1"], "fluency", "fluency"),
        ("geval", ["table2"], "engagingness", "engagingness"),
        ("chatgpt", ["table2", "table5"], "relevance", "relevance"),
        ("chatgpt", ["table7"], "quality", "quality"),
        ("coascore", ["table3"], "consistency", "consistency"),
        ("coascore", ["table4"], "engagingness", "interest"),
        ("coascore", ["table4"], "coherence", "context"),
    ],
)
def test_a_judge_of_one_aspect_is_seen_in_its_own_column_alone(paper, artefacts, only, printed):
    found = cells_by(lambda benchmarks: People(benchmarks, only=only), paper, artefacts).cells
    found = found[found["aspect"] != "AVG"]
    own = found["aspect"] == printed
    assert own.any() and (found.loc[own, "ours"] > 0.9).all()
    assert found.loc[~own, "ours"].isna().all()  # the same rating for everything


def test_what_may_not_be_kept_says_why():
    asked = {"source": "sample"}
    assert "is not a language model" in nj.rerun("geval", "table2", "surface", **asked).notice
    judge = People([nj.load("topical_chat", "sample")])
    found = nj.rerun("geval", "table2", judge, limit=5, options={"samples": 2}, **asked)
    assert not found.enters
    for reason in ("items are the sample's", "the first 5 documents", "(samples=2)"):
        assert reason in found.notice
    nobody = nj.rerun("geval", "table2", **asked)
    assert nobody.notice == "no judge is named, so no request was sent" and not len(nobody.cells)


def test_a_reply_without_a_list_leaves_its_aspect_unread_and_the_others_go_on():
    """Table 5 asks for five aspects; to one of them the judge names nothing."""

    named = [f"Quality {number}" for number in range(1, 6)]

    def forgetful(item):
        if "Your task is to list" in item.prompt:
            lines = [f"{name}: how good it is" for name in named]
            return "I cannot think of any." if item.aspect == "naturalness" else "\n".join(lines)
        if "JSON" not in item.prompt:
            return 3
        rated = [aspect.name for aspect in nj.coascore.dataset_aspects("dialogue").values()]
        return json.dumps(dict.fromkeys([*named, *rated], 4))

    with pytest.warns(UserWarning, match="named no aspect of naturalness, expected 5"):
        found = nj.rerun("coascore", "table5", forgetful, source="sample")
    read = found.responses.groupby("aspect")["score"].apply(lambda scores: scores.notna().mean())
    assert read["naturalness"] < 1 and read.drop("naturalness").eq(1).all()
    lost = found.responses[found.responses["score"].isna()]
    assert set(lost["reason"]) == {"no_aspects"} and set(lost["aspect"]) == {"naturalness"}
    assert found.counts["unread"].sum() == len(lost) and len(found.cells)
