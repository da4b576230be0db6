"""ROUGE on texts small enough to count by hand, and its cache."""

import random

import pandas as pd
import pytest
from rouge_score import rouge_scorer

from nlgjudge.metrics import lexical
from nlgjudge.metrics.meteor_versions import meteor, meteor_missing
from nlgjudge.metrics.rouge_perl import rouge155
from nlgjudge.metrics.sentence_bleu import bleu


def items(*pairs, **columns):
    """Items `i0, i1, ...` from (hypothesis, references)."""
    return pd.DataFrame(
        {
            "item_id": [f"i{n}" for n in range(len(pairs))],
            "hypothesis": [h for h, _ in pairs],
            "references": [[r] if isinstance(r, str) else r for _, r in pairs],
            **columns,
        }
    )


def one(hypothesis, reference, *columns, **options):
    row = lexical.rouge(items((hypothesis, reference)), **options).iloc[0]
    return [row[column] for column in columns]


def test_by_hand():
    """Five words against six; all five match (the twice), bigrams on-the, the-mat, the-cat match."""
    row = lexical.rouge(
        items(("On the mat: the cat!", "The cat sat on the mat.")), stemmer="none", split="whole"
    ).iloc[0]
    expected = {
        "rouge1-p": 5 / 5,
        "rouge1-r": 5 / 6,
        "rouge1-f": 10 / 11,  # 2 * 1 * (5/6) / (11/6)
        "rouge2-p": 3 / 4,
        "rouge2-r": 3 / 5,
        "rouge2-f": 2 / 3,  # 2 * 0.45 / 1.35
        "rougeL-p": 3 / 5,
        "rougeL-r": 3 / 6,
        "rougeL-f": 6 / 11,  # longest: on the mat; 2 * 0.3 / 1.1
    }
    assert dict(row[list(expected)]) == pytest.approx(expected)
    assert (row["item_id"], row["reference"]) == ("i0", 0)


@pytest.mark.parametrize("stemmer", [False, True])
def test_the_values_are_rouge_score_s_own(stemmer):
    """Its default tokenizer, and its sentences."""
    rng = random.Random(0)
    words = ["cat", "cats", "running", "runs", "mat", "--"]
    texts = [
        " . ".join(" ".join(rng.choices(words, k=rng.randrange(9))) for _ in range(3))
        for _ in range(31)
    ]
    found = lexical.rouge(
        items(*zip(texts, texts[1:])), stemmer="porter" if stemmer else "none", split="period"
    )
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeLsum"], use_stemmer=stemmer)
    lines = [text.replace(" . ", "\n") for text in texts]
    scores = [
        scorer.score(reference, hypothesis) for hypothesis, reference in zip(lines, lines[1:])
    ]
    theirs = [[value for kind in row.values() for value in kind] for row in scores]
    assert found[lexical.COLUMNS].to_numpy().tolist() == theirs


def test_sets_count_a_word_once_and_keep_case_and_marks():
    """Sets {the, cat, on, mat.} and {the, cat, sat, on}: three of four each; bigrams the-cat alone of four
    and three; common subsequence the cat on, three different words."""
    row = lexical.rouge(items(("the cat on the mat.", "the cat sat on")), split="sets").iloc[0]
    expected = {
        "rouge1-p": 3 / 4,
        "rouge1-r": 3 / 4,
        "rouge2-p": 1 / 4,
        "rouge2-r": 1 / 3,
        "rougeL-p": 3 / 4,
        "rougeL-r": 3 / 4,
        "rougeL-f": 3 / 4,
    }
    assert dict(row[list(expected)]) == pytest.approx(expected)
    assert one("The cat", "the cat", "rouge1-f", split="sets") == pytest.approx([0.5])


def test_openmevas_released_rouge_is_rouge_of_sets(real):
    """Nine scores of each of 1,000 stories, as released with the ChatGPT study."""
    stories = real("openmeva")
    ours = lexical.over_references(lexical.rouge(stories.items, split="sets"), "first").set_index(
        "item_id"
    )
    released = stories.released().set_index("item_id")[ours.columns]
    assert len(ours) == 1000 and (ours - released).abs().max(axis=None) < 1e-9


def test_nothing_in_common_and_nothing_said():
    frame = lexical.rouge(items(("dog", "the cat"), ("", "the cat"), ("...", "the cat")))
    assert (frame.drop(columns=["item_id", "reference"]) == 0).all(axis=None)


NOT_READ = ["图书馆九点开门。", "도서관은 opens 아홉 시에"]


@pytest.mark.parametrize("text", NOT_READ)
def test_letters_that_rouge_does_not_read_give_no_score(text):
    """Of two references, one in other letters is enough: `first` would be the second's score."""
    pairs = [(text, text), ("a café", ["a café", text]), (text, "a cat"), ("a cat", "a cat")]
    frame = items(*pairs)
    for options in ({}, {"stemmer": "none", "split": "whole", "beta": 1.2}):
        scores = lexical.rouge(frame, **options)
        for aggregation in lexical.AGGREGATIONS:
            values = lexical.over_references(scores, aggregation).set_index("item_id")
            assert values.loc[["i0", "i1", "i2"]].isna().all(axis=None)
            assert (values.loc["i3"] == 1).all()
    assert rouge155(frame)["rouge1-f"].isna().sum() == 4
    baselines = lexical.lexical_baselines(frame)
    assert baselines["rougeL-f"].isna().sum() == 3 and baselines["bleu"].notna().all()
    assert "it gives 3 of 4 items no score" in baselines.attrs["missing"]["rouge"]


@pytest.mark.parametrize("text", NOT_READ)
def test_words_between_blanks_are_read_in_any_letters(text):
    frame = items((text, text))
    assert lexical.rouge(frame, stemmer="spaces")["rouge1-f"].tolist() == [1]
    assert lexical.rouge(frame, split="sets")["rouge1-f"].tolist() == pytest.approx([1])


@pytest.mark.parametrize(
    "text", ["", "...", "– 12 –", "Ein Café öffnet – früh", "called 图书馆 in China", "α of it"]
)
def test_texts_with_mostly_latin_letters_keep_their_score(text):
    frame = items((text, "the cat"), ("the cat", text), ("the cat", "the cat"))
    assert lexical.rouge(frame)["rouge1-f"].tolist() == [0, 0, 1]
    assert "rouge" not in lexical.lexical_baselines(frame).attrs["missing"]


@pytest.mark.parametrize(
    "hypothesis, reference, expected",
    [
        ("running", "runs", {"none": 0, "porter": 1, "porter_original": 1}),  # run, run
        # NLTK: die, die; 1980: dy, di
        ("dying", "dies", {"none": 0, "porter": 1, "porter_original": 0}),
        # three letters are not stemmed
        ("was", "wa", {"none": 0, "porter": 0, "porter_original": 0}),
    ],
)
def test_stemmers(hypothesis, reference, expected):
    found = {s: one(hypothesis, reference, "rouge1-f", stemmer=s)[0] for s in lexical.STEMMERS}
    assert found == expected


@pytest.mark.parametrize(
    "stop, expected",
    [
        # no blank before the stop, none to cut at
        (".", {"whole": 0.5, "period": 0.5, "punctuation": 1}),
        (" .", {"whole": 0.5, "period": 1, "punctuation": 1}),
    ],
)
def test_sentence_split_changes_rouge_l_only(stop, expected):
    """Two sentences swapped: 2 of 4 words in sequence as a whole, 2 + 2 of 4 sentence by sentence."""
    hypothesis, reference = (
        f"{a}{stop} {b}{stop}"
        for a, b in (("gamma delta", "alpha beta"), ("alpha beta", "gamma delta"))
    )
    columns = ("rougeL-p", "rougeL-r", "rougeL-f", "rouge1-f", "rouge2-f")
    found = {s: one(hypothesis, reference, *columns, split=s) for s in lexical.SPLITS}
    assert found == {s: pytest.approx([v, v, v, 1, 2 / 3]) for s, v in expected.items()}


def test_bad_input():
    for option in ({"stemmer": "snowball"}, {"split": "comma"}):
        ((name, value),) = option.items()
        with pytest.raises(ValueError, match=f"{name}={value!r}.*expected .*'porter_original'"):
            lexical.rouge(items(("a", "a")), **option)
    with pytest.raises(ValueError, match="1 items have no reference; .*put the source in"):
        lexical.rouge(items(("a", [])))
    with pytest.raises(ValueError, match=r"aggregation='last': expected one of \('first', 'mean"):
        lexical.over_references(pd.DataFrame(), "last")


def test_aggregation_over_references():
    scores = lexical.rouge(items(("a b", ["a c", "a b", "x y"]), ("q", ["q"])), stemmer="none")
    assert scores["reference"].tolist() == [0, 1, 2, 0]
    assert scores["rouge1-f"].tolist() == [0.5, 1, 0, 1]
    reduced = {a: lexical.over_references(scores, a) for a in lexical.AGGREGATIONS}
    # The mean is (0.5 + 1 + 0) / 3.
    found = {a: r["rouge1-f"].tolist() for a, r in reduced.items()}
    assert found == {"first": [0.5, 1], "mean": [0.5, 1], "max": [1, 1]}
    assert reduced["max"]["item_id"].tolist() == ["i0", "i1"]


@pytest.mark.parametrize(
    "references, expected",
    [
        # stemmers x aggregations x parts x (ROUGE-1, ROUGE-2, and ROUGE-L in three splits)
        (["a b", "a"], 3 * 3 * 3 * (1 + 1 + 3)),
        (["a b"], 3 * 1 * 3 * (1 + 1 + 3)),
    ],
)
def test_variants_are_all_there_once(references, expected):
    found = list(lexical.rouge_variants(items(("a b", references))))
    assert len(found) == len({(metric, variant) for metric, variant, _ in found}) == expected
    assert {metric for metric, _, _ in found} == {"rouge1", "rouge2", "rougeL"}
    assert all(list(scores) == ["item_id", "score"] and len(scores) == 1 for _, _, scores in found)


def test_all_baselines_at_once_are_the_single_ones(tree):
    two = items(("the cat sat .", ["a cat", "the cat sat ."]), ("on a mat", ["the mat", "on"]))
    frame = lexical.lexical_baselines(two)
    single = lexical.over_references(lexical.rouge(two), "max")
    pd.testing.assert_frame_equal(frame.iloc[:, :10], single)
    assert list(frame)[10:] == ["bleu", "meteor"]
    assert frame["bleu"].tolist() == bleu(two)["score"].tolist()
    assert frame.attrs["missing"] == ({"meteor": meteor_missing()} if meteor_missing() else {})
    if not meteor_missing():
        assert frame["meteor"].tolist() == meteor(two)["score"].tolist()
