"""Neural baselines on tiny random models made here; what they compute is redone step by step."""

import math
import sys

import pandas as pd
import pytest

from nlgjudge.metrics import neural

WORDS = ["the", "cat", "sat", "on", "a", "mat", ".", "dog", "barked", "!", "question:", "summary:"]


@pytest.fixture
def items():
    return pd.DataFrame(
        {
            "item_id": ["i0", "i1", "i2"],
            "source": ["the cat sat on a mat .", "a dog barked .", "the dog"],
            "hypothesis": ["the cat sat . the dog barked .", "the dog", "a mat"],
            "references": [["a cat sat on the mat .", "the cat"], ["a dog barked !"], ["a mat"]],
            "context": ["the dog barked .", "a mat", "on"],
        }
    )


@pytest.fixture
def tokenizer(tree):
    pytest.importorskip("torch", reason="needs the extra neural")
    transformers = pytest.importorskip("transformers", reason="needs the extra neural")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = ["<pad>", "</s>", "<unk>", "Yes", "No"]
    made = Tokenizer(
        models.WordLevel({w: i for i, w in enumerate(special + WORDS)}, unk_token="<unk>")
    )
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        cls_token="</s>",
        sep_token="</s>",
        model_max_length=64,
    )


@pytest.fixture
def checkpoint(tokenizer, tmp_path):
    """Save a random model of a kind with the tokenizer; return its folder and the model."""
    import torch
    import transformers

    small = {"num_attention_heads": 2, "num_hidden_layers": 3, "hidden_size": 16}
    coded = {"d_model": 16, "eos_token_id": 1, "decoder_start_token_id": 0, "pad_token_id": 0}
    layers = {f"{side}_layers": 1 for side in ("encoder", "decoder")}
    heads = {f"{side}_attention_heads": 2 for side in ("encoder", "decoder")}
    kinds = {
        "bert": ("BertModel", small | {"intermediate_size": 32, "initializer_range": 0.5}),
        "bart": (
            "BartForConditionalGeneration",
            coded
            | layers
            | heads
            | {"encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "init_std": 0.5},
        ),
        "t5": (
            "T5ForConditionalGeneration",
            coded | {"d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2},
        ),
    }

    def save(kind, seed=0, folder="model"):
        torch.manual_seed(seed)
        head, options = kinds[kind]
        config = transformers.AutoConfig.for_model(kind, vocab_size=len(tokenizer), **options)
        model = getattr(transformers, head)(config)
        model.save_pretrained(tmp_path / folder)
        tokenizer.save_pretrained(tmp_path / folder)
        return str(tmp_path / folder), model.eval()

    return save


def next_token(model, tokenizer, source, before):
    """Log-probabilities of the token after `before`, one forward pass for it alone."""
    import torch

    with torch.no_grad():
        logits = (
            model(
                input_ids=torch.tensor([tokenizer(source)["input_ids"]]),
                decoder_input_ids=torch.tensor([before]),
            )
            .logits[0, -1]
            .tolist()
        )
    total = math.log(sum(math.exp(x) for x in logits))
    return [x - total for x in logits]


@pytest.mark.parametrize("direction", neural.DIRECTIONS)
def test_bartscore_is_the_mean_log_probability_of_the_tokens(
    checkpoint, tokenizer, items, direction
):
    folder, model = checkpoint("bart")

    def expected(given, text):
        ids = tokenizer(text)["input_ids"]  # the end token counts
        steps = [next_token(model, tokenizer, given, [0, *ids[:t]])[i] for t, i in enumerate(ids)]
        return sum(steps) / len(steps)

    found = neural.bartscore(items, direction, folder)
    wanted = []
    for row in items.itertuples():
        pairs = {
            "source to hypothesis": [(row.source, row.hypothesis)],
            "reference to hypothesis": [(r, row.hypothesis) for r in row.references],
            "hypothesis to reference": [(row.hypothesis, r) for r in row.references],
        }[direction]
        wanted.append(sum(expected(*pair) for pair in pairs) / len(pairs))
    assert found["item_id"].tolist() == ["i0", "i1", "i2"]
    assert found["score"].tolist() == pytest.approx(wanted, abs=1e-5)
    assert found["score"].nunique() == 3 and (found["score"] < 0).all()


def test_unieval_is_yes_against_no(checkpoint, tokenizer, items):
    folder, model = checkpoint("t5")
    found = neural.unieval(items, "summarization", "relevance", folder)
    for row, score in zip(items.itertuples(), found["score"]):
        asked = (
            f"question: Is this summary relevant to the reference? </s> summary: {row.hypothesis} </s> "
            f"reference: {row.references[0]}"
        )
        yes, no = (math.exp(next_token(model, tokenizer, asked, [0])[i]) for i in (3, 4))
        assert score == pytest.approx(yes / (yes + no), abs=1e-5)
    assert found["score"].nunique() == 3


@pytest.mark.parametrize(
    "task, aspect, reduce",
    [
        ("summarization", "consistency", lambda a, b: (a + b) / 2),
        ("dialogue", "engagingness", lambda a, b: a + b),
    ],
)
def test_unieval_asks_about_each_sentence(checkpoint, items, task, aspect, reduce):
    folder, _ = checkpoint("t5")
    whole = neural.unieval(items.head(1), task, aspect, folder)["score"].item()
    parts = [
        neural.unieval(items.head(1).assign(hypothesis=text), task, aspect, folder)["score"].item()
        for text in ("the cat sat .", "the dog barked .")
    ]
    assert whole == pytest.approx(reduce(*parts), abs=1e-6) and parts[0] != parts[1]


def test_every_question_of_unieval_can_be_asked(checkpoint, items):
    folder, _ = checkpoint("t5")
    for task, aspect in neural.QUESTIONS:
        scores = neural.unieval(items, task, aspect, folder)
        assert len(scores) == 3 and scores["score"].between(0, 2).all()


def test_bertscore_matches_greedily(checkpoint, tokenizer, items):
    import torch

    folder, model = checkpoint("bert")
    found = neural.bertscore(items, folder, layer=2)

    def embedded(text):
        with torch.no_grad():
            states = model(torch.tensor([tokenizer(text)["input_ids"]]), output_hidden_states=True)
        return [[float(x) for x in row] for row in states.hidden_states[2][0]]

    def cosine(a, b):
        return sum(x * y for x, y in zip(a, b)) / math.hypot(*a) / math.hypot(*b)

    mine, its = embedded("the dog"), embedded("a dog barked !")  # the last of each is the end token
    p = sum(max(cosine(m, i) for i in its) for m in mine[:-1]) / 2
    r = sum(max(cosine(m, i) for m in mine) for i in its[:-1]) / 4
    assert found.loc[1].tolist()[1:] == pytest.approx([p, r, 2 * p * r / (p + r)], abs=1e-5)
    assert found.loc[2].tolist()[1:] == pytest.approx([1, 1, 1], abs=1e-5)  # the same text
    best = [
        neural.bertscore(items.head(1).assign(references=[[r]]), folder, layer=2).iloc[0, 1:]
        for r in items["references"][0]
    ]
    assert found.iloc[0, 1:].tolist() == pytest.approx(
        pd.concat(best, axis=1).max(axis=1).tolist(), abs=1e-5
    )
    empty = neural.bertscore(items.head(1).assign(hypothesis=""), folder, layer=2)
    assert empty.iloc[0, 1:].tolist() == [0, 0, 0]


def test_a_layer_that_the_model_lacks_is_refused(checkpoint, items):
    folder, _ = checkpoint("bert")
    with pytest.raises(ValueError, match="layer=9: .* has 3 layers"):
        neural.bertscore(items, folder)


def test_parameters_of_a_file_take_the_place_of_the_checkpoints(checkpoint, items, tmp_path):
    """BARTScore's bart_score.pth is a state dictionary for bart-large-cnn."""
    import torch

    other, model = checkpoint("bart", seed=1, folder="other")
    torch.save(model.state_dict(), tmp_path / "other.pth")
    folder, _ = checkpoint("bart", seed=0)
    plain, wanted = (
        neural.bartscore(items, checkpoint=place)["score"].tolist() for place in (folder, other)
    )
    found = neural.bartscore(items, checkpoint=folder, parameters=str(tmp_path / "other.pth"))[
        "score"
    ].tolist()
    assert found == pytest.approx(wanted, abs=1e-6) and found != pytest.approx(plain, abs=1e-3)
    torch.save({"strange": torch.zeros(1)}, tmp_path / "strange.pth")
    with pytest.raises(
        ValueError, match="strange.pth: expected the parameters of bart, got 1 others"
    ):
        neural.bartscore(items, checkpoint=folder, parameters=str(tmp_path / "strange.pth"))


def test_batches_do_not_matter(checkpoint, items):
    folder, _ = checkpoint("bart")
    many = pd.concat([items.assign(item_id=items["item_id"] + f".{n}") for n in range(7)])
    assert len(many) > neural.BATCH
    together, alone = (
        neural.bartscore(i, checkpoint=folder)["score"].tolist() for i in (many, items)
    )
    assert together == pytest.approx(alone * 7, abs=1e-5)
    with neural.running("cpu", 2):
        smaller = neural.bartscore(many.assign(source="a " + many["source"]), checkpoint=folder)
    assert len(smaller) == len(many)


def test_scores_are_kept_until_the_weights_change(checkpoint, items, tree, monkeypatch):
    folder, _ = checkpoint("bart")
    first = neural.bartscore(items, checkpoint=folder)
    assert {name.split("/")[0] for name in tree.cached()} == {"neural"}
    with monkeypatch.context() as patch:
        patch.setattr(neural, "_load", lambda *a: pytest.fail("the model was loaded"))
        pd.testing.assert_frame_equal(neural.bartscore(items, checkpoint=folder), first)
    checkpoint("bart", seed=1)
    assert (neural.bartscore(items, checkpoint=folder)["score"] != first["score"]).all()


def test_without_the_extra_the_error_names_it(items, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for call in (
        neural.bertscore,
        neural.bartscore,
        lambda given: neural.unieval(given, "fact", "consistency"),
    ):
        with pytest.raises(
            ImportError, match=r"torch is not installed; it belongs to the extra neural"
        ):
            call(items)


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda items: neural.bartscore(items, "both"), "'both': expected one of source to hyp"),
        (
            lambda items: neural.unieval(items, "summarization", "style"),
            "aspect='style': expected one of summarization/flu.*fact/cons",
        ),
        (lambda _: neural.running("tpu").__enter__(), "device='tpu'.*expected one of auto, cpu"),
        (lambda _: neural.running("cpu", 0).__enter__(), "batch_size=0: expected .* at least 1"),
    ],
)
def test_unknown_options(items, call, said):
    with pytest.raises(ValueError, match=said):
        call(items)


def test_the_plan_counts_sentences_where_they_are_asked_about(items):
    assert neural.questions(items, "summarization", "relevance") == 3
    assert neural.questions(items, "summarization", "fluency") == 4  # the first has two sentences
