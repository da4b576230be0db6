"""ROUGE by a library's default is what that library itself gives."""

import pandas as pd
import pytest
from rouge_score.rouge_scorer import RougeScorer

import nlgjudge as nj


def test_default_rouge_is_that_of_rouge_score_without_options():
    """Several references a text, so that the choice among them matters too."""
    benchmark = nj.load("summeval", "sample")
    items = benchmark.items
    assert (items["references"].map(len) > 1).any()
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"])
    found = [
        scorer.score_multi(references, text)
        for references, text in zip(items["references"], items["hypothesis"])
    ]
    scores = pd.DataFrame(
        {f"ROUGE-{kind}": [score[f"rouge{kind}"].fmeasure for score in found] for kind in "12L"}
    )
    frame = benchmark.with_scores(scores.assign(item_id=items["item_id"].to_numpy()))
    ours = nj.studies.default_rouge(benchmark).set_index(["row", "aspect", "level", "coefficient"])[
        "ours"
    ]
    for (row, aspect, level, coefficient), value in ours.items():
        theirs = nj.correlation(frame, row, aspect, level=level, coefficient=coefficient).value
        assert value == pytest.approx(theirs, abs=1e-9)
    assert len(ours) == 3 * len(benchmark.aspects) * 2 * 3


def test_one_system_has_no_sample_level():
    benchmark = nj.load("qags_cnn", "sample")
    assert benchmark.items["system_id"].nunique() == 1
    assert set(nj.studies.default_rouge(benchmark)["level"]) == {"dataset"}
