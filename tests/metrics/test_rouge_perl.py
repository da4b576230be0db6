"""ROUGE as the Perl script gives it: its habits by hand, and upstream's six decimals."""

import pandas as pd
import pytest

import nlgjudge as nj


def one(hypothesis, *references, **options):
    items = pd.DataFrame(
        {"item_id": ["i"], "hypothesis": [hypothesis], "references": [list(references)]}
    )
    return nj.metrics.rouge155(items, **options)


def test_text_after_an_angle_bracket_is_lost_up_to_the_sentences_end():
    """Left of "the cat < UNK > sat down . a dog" are the, cat, a, dog: all four of the reference's five."""
    row = one("the cat < UNK > sat down . a dog", "the cat sat . a dog").iloc[0]
    assert row[["rouge1-p", "rouge1-r", "rouge1-f"]].tolist() == [1, 0.8, 0.88889]  # 2 * 0.8 / 1.8
    # The-cat, cat-a, a-dog against the-cat, cat-sat, sat-a, a-dog.
    assert row["rouge2-p"] == 0.66667


def test_f_is_formed_from_the_rounded_parts():
    """1 of 3 and 1 of 7: 2 * 0.33333 * 0.14286 / 0.47619; every value has five decimals."""
    row = one("cat b c", "cat d e f g h i").iloc[0]
    assert row[["rouge1-p", "rouge1-r", "rouge1-f"]].tolist() == [0.33333, 0.14286, 0.2]


@pytest.mark.parametrize(
    "word, stem",
    [("commissioner", "commiss"), ("tournament", "tournam"), ("technology", "technolog")],
)
def test_the_fourth_step_may_strip_several_endings(word, stem):
    """Commissioner: -er, then -ion, gives commiss; Porter's algorithm stops at commission."""
    assert one(word, stem)["rouge1-f"].item() == 1


def test_sentences_end_at_a_period_or_at_dots():
    """Union over pieces: with one piece `b a` matches one word of `a b`, with two pieces both."""
    assert one("b ... a", "a b")["rougeL-f"].item() == 0.5
    assert one("b ... a", "a b", ends="dots")["rougeL-f"].item() == 1
    assert one("b . a", "a b")["rougeL-f"].item() == 1


def test_a_row_for_each_reference_and_errors():
    frame = one("a b", "a b", "c")
    assert frame["reference"].tolist() == [0, 1] and frame["rouge1-f"].tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"ends='line': expected one of \('period', 'dots'\)"):
        one("a", "a", ends="line")
    with pytest.raises(ValueError, match="1 items have no reference"):
        one("a")


def test_upstreams_demonstration_on_realsumm(real):
    """BARTScore's analysis.ipynb prints ROUGE-1 and 2, recall, sample level, with six decimals."""
    summaries = real("realsumm")
    scores = summaries.with_scores(
        nj.metrics.over_references(nj.metrics.rouge155(summaries.items), "first")
    )
    printed = {
        ("rouge1-r", "spearman"): 0.497526,
        ("rouge1-r", "kendall"): 0.407974,
        ("rouge2-r", "spearman"): 0.4233,
        ("rouge2-r", "kendall"): 0.353119,
    }
    for (metric, coefficient), value in printed.items():
        found = nj.correlation(scores, metric, "pyramid_recall", coefficient=coefficient).value
        assert found == pytest.approx(value, abs=6e-7), metric


TABLES_2_AND_5 = {  # Spearman, Pearson, Kendall; section 4.3
    ("rouge1-f", "coherence", "sample"): (0.095, -0.071, 0.076),
    ("rouge2-f", "relevance", "sample"): (0.091, -0.056, 0.065),
    ("rougeL-f", "fluency", "sample"): (0.072, -0.090, 0.061),
    ("rouge1-f", "informativeness", "dataset"): (0.149, 0.043, 0.106),
    ("rouge2-f", "fluency", "dataset"): (0.045, 0.018, 0.032),
    ("rougeL-f", "coherence", "dataset"): (0.079, -0.010, 0.055),
}


def test_newsroom_rouge_of_tables_2_and_5(real):
    """Wang et al. 2023, Tables 2 and 5: F rounds to the print."""
    news = real("newsroom")
    scores = news.with_scores(
        nj.metrics.over_references(nj.metrics.rouge155(news.items, ends="dots"), "first")
    )
    for (metric, aspect, level), printed in TABLES_2_AND_5.items():
        found = [
            nj.correlation(scores, metric, aspect, level=level, coefficient=c).value
            for c in ("spearman", "pearson", "kendall")
        ]
        assert found == pytest.approx(printed, abs=0.000501), (metric, aspect, level)
