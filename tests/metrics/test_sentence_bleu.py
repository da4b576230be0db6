"""BLEU by hand, against sacrebleu itself, and against the row that a paper prints."""

import math
import subprocess
import sys

import pandas as pd
import pytest
from sacrebleu.metrics import BLEU

import nlgjudge as nj
from nlgjudge.metrics.sentence_bleu import VARIANTS, bleu, bleu_variants


def items(*pairs):
    return pd.DataFrame(
        {
            "item_id": [f"i{n}" for n in range(len(pairs))],
            "hypothesis": [h for h, _ in pairs],
            "references": [r for _, r in pairs],
        }
    )


def one(hypothesis, *references, variant="nltk, none"):
    return bleu(items((hypothesis, list(references))), variant)["score"].item()


# Six words against seven, five unigrams, three bigrams, one trigram and no 4-gram in common.
SHORT = "the cat sat on a mat", ["the cat sat upon a mat today"]
BREVITY = math.exp(1 - 7 / 6)


@pytest.mark.parametrize(
    "variant, fourth",
    [
        # matches: the cat sat a mat (5 of 6); the-cat cat-sat a-mat (3 of 5); the-cat-sat (1 of 4); 0 of 3
        ("COCO", 1e-15 / 3),
        ("nltk, tiny epsilon", 1e-15 / 3),
        ("nltk, epsilon 0.1", 0.1 / 3),
        ("nltk, none", sys.float_info.min),  # nltk's word for nothing
        ("nltk, NIST", 1 / 2 / 3),  # the first order without a match counts as a half
    ],
)
def test_smoothing_by_hand(variant, fourth):
    expected = BREVITY * (5 / 6 * 3 / 5 * 1 / 4 * fourth) ** (1 / 4)
    assert bleu(items(SHORT), variant)["score"].item() == pytest.approx(expected)


def test_add_one_by_hand():
    """All orders but the first: (3 + 1) / (5 + 1), (1 + 1) / (4 + 1), (0 + 1) / (3 + 1)."""
    expected = BREVITY * (5 / 6 * 4 / 6 * 2 / 5 * 1 / 4) ** (1 / 4)
    assert bleu(items(SHORT), "nltk, add one")["score"].item() == pytest.approx(expected)


def test_brevity_penalty_and_clipping():
    assert one("a b c d", "a b c d") == 1
    # All precisions are 1.
    assert one("a b c d", "a b c d e f") == pytest.approx(math.exp(1 - 6 / 4))
    # longer than its reference: no penalty
    assert one("a b c d x", "a b c d") == pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    # the second "a b c d" is clipped: 4/8 3/7 2/6 1/5, and "d a" is in no reference
    clipped = (4 / 8 * 3 / 7 * 2 / 6 * 1 / 5) ** 0.25
    assert one("a b c d a b c d", "a b c d") == pytest.approx(clipped)


def test_several_references_share_counts_and_the_nearest_length_decides():
    # a b c d from the first, e from the second: 5/5, 3/4 (d-e is in neither), 2/3, 1/2; of the lengths 4
    # and 9 the first is nearer to 5, and shorter: no penalty
    expected = (5 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    assert one("a b c d e", "a b c d", "e f g h i j k l m") == pytest.approx(expected)
    assert one("a b c d e", "e f g h i j k l m", "a b c d") == pytest.approx(expected)


def test_nltk_takes_texts_cut_at_blanks_and_sacrebleu_its_own_tokens():
    expected = (3 / 4 * 2 / 3 * 1 / 2 * sys.float_info.min) ** 0.25  # The is not the
    assert one("The cat sat down.", "the cat sat down.") == pytest.approx(expected)
    assert one("a b c d!", "a b c d !", variant="sacrebleu, exp") == pytest.approx(1)


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v.startswith("sacrebleu")])
def test_sacrebleu_variants_are_sacrebleu(variant):
    pairs = [
        SHORT,
        ("A dog barked at night.", ["A dog barked.", "At night, a dog barked."]),
        ("no", ["yes"]),
    ]
    metric = BLEU(smooth_method=VARIANTS[variant][1], effective_order=True)
    expected = [metric.sentence_score(*pair).score / 100 for pair in pairs]
    assert bleu(items(*pairs), variant)["score"].tolist() == pytest.approx(expected, rel=1e-14)
    assert 0 < expected[0] < 1


def test_a_score_is_the_same_to_the_last_bit_on_each_python():
    """4 of 5 words and 1 of 4 pairs: from 3.12 on, the built-in sum gives 0.2540663740773073."""
    assert one("a b d c x", "a b c d e", variant="sacrebleu, exp") == 0.2540663740773074


@pytest.mark.parametrize("variant", VARIANTS)
def test_empty_and_short_texts_have_a_score(variant):
    scores = bleu(items(("", ["a b"]), ("x", ["x"]), ("a b", ["c d"])), variant)["score"]
    assert scores.between(0, 1 + 1e-12).all()
    # COCO's nothing is a little more than 0.
    assert scores[[0, 2]].max() < 1e-6 and scores[1] > scores[2]


def test_coco_is_the_caption_metrics_own_code():
    """pycocoevalcap's scorer, on texts with and without a word, shorter than four words, and repeated."""
    scorer = pytest.importorskip("pycocoevalcap.bleu.bleu_scorer")
    pairs = [
        SHORT,
        ("", ["a b"]),
        ("x", ["x"]),
        ("a b", ["c d"]),
        ("a b c", ["a b c", "a b"]),
        ("a b c d a b c d", ["a b c d"]),
        ("a b c d e", ["e f g h i j k l m", "a b c d"]),
    ]
    expected = []
    for hypothesis, references in pairs:
        one_text = scorer.BleuScorer(n=4)
        one_text += (hypothesis, references)
        expected.append(one_text.compute_score(option="closest")[1][3][0])
    assert bleu(items(*pairs), "COCO")["score"].tolist() == pytest.approx(expected, rel=1e-6)


def test_unknown_variant_and_missing_references():
    with pytest.raises(ValueError, match="variant='nltk': expected one of COCO, nltk, ti"):
        bleu(items(SHORT), "nltk")
    for variant in ("nltk, none", "sacrebleu, exp"):
        with pytest.raises(ValueError, match="1 items have no reference; leave them out"):
            bleu(items(SHORT, ("a", [])), variant)


def test_variants_are_all_there_once():
    found = list(bleu_variants(items(SHORT, ("a", ["a"]))))
    assert [(metric, variant) for metric, variant, _ in found] == [("bleu4", v) for v in VARIANTS]
    assert all(
        list(s) == ["item_id", "score"] and s["item_id"].tolist() == ["i0", "i1"] for *_, s in found
    )


def test_no_noise_on_stderr():
    """Neither nltk's warning of missing n-grams nor sacrebleu's advice, without pytest's capture."""
    program = (
        "import pandas as pd; from nlgjudge.metrics.sentence_bleu import bleu_variants\n"
        "items = {'item_id': range(150), 'hypothesis': 'x y .', 'references': [['y x .']] * 150}\n"
        "print(sum(len(scores) for *_, scores in bleu_variants(pd.DataFrame(items))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{150 * len(VARIANTS)}\n", "")


@pytest.fixture
def printed(real, monkeypatch, pytestconfig):
    """Our correlations beside the printed cells of one row of G-Eval's Table 2."""

    def compare(row, scores):
        chats = real("topical_chat")
        frame = chats.with_scores(scores.rename(columns={"score": "ours"}))
        frame = frame[frame["system_id"] != "Original Ground Truth"]
        assert len(frame) == 300
        monkeypatch.setenv("NLGJUDGE_ROOT", str(pytestconfig.rootpath))
        cells = nj.published("geval", "table2").query("row == @row and aspect != 'AVG'")
        assert len(cells) == 8 and set(cells["coefficient"]) == {"pearson", "spearman"}
        ours = [
            nj.correlation(frame, "ours", c.aspect, level=c.level, coefficient=c.coefficient).value
            for c in cells.itertuples()
        ]
        return list(zip(ours, cells["printed"]))

    return compare


def test_bleu_row_of_geval_table_2(real, printed):
    scores = bleu(real("topical_chat").items, "nltk, tiny epsilon")
    found = printed("BLEU-4", scores)
    assert [ours for ours, _ in found] == pytest.approx([float(p) for _, p in found], abs=0.001)
    coco = printed("BLEU-4", bleu(real("topical_chat").items, "COCO"))
    assert sum(f"{ours:.3f}" == p for ours, p in coco) == 7
    # Coherence's Spearman, 0.2345 with four digits and 0.235 in print.
    assert [f"{round(ours, 4):.4f} {p}" for ours, p in coco if f"{ours:.3f}" != p] == [
        "0.2345 0.235"
    ]


def test_rouge_row_of_geval_table_2(real, printed):
    scores = nj.metrics.rouge(real("topical_chat").items, stemmer="spaces", split="whole", beta=1.2)
    found = printed(
        "ROUGE-L", scores[["item_id", "rougeL-f"]].set_axis(["item_id", "score"], axis=1)
    )
    assert [f"{ours:.3f}" for ours, _ in found] == [p for _, p in found]
