"""The neural rows' own cells on tiny random models made here; what they compute is redone step by step."""

import math
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest

from nlgjudge.data.paths import root

NOTEBOOK = root() / "notebooks" / "neural_rows.ipynb"
CELLS = ("weights_of", "loaded", "encoded", "bertscore", "bartscore", "unieval", "metric_scores")
WORDS = ["the", "cat", "sat", "on", "a", "mat", ".", "dog", "barked", "!", "question:", "summary:"]
ITEMS = pd.DataFrame(
    {
        "item_id": ["i0", "i1", "i2"],
        "source": ["the cat sat on a mat .", "a dog barked .", "the dog"],
        "hypothesis": ["the cat sat . the dog barked .", "the dog", "a mat"],
        "references": [["a cat sat on the mat .", "the cat"], ["a dog barked !"], ["a mat"]],
        "context": ["the dog barked .", "a mat", "on"],
    }
)


@pytest.fixture(scope="module")
def cells():
    """Names that the notebook's cells of method define."""
    names = {"pd": pd, "lru_cache": lru_cache, "find_spec": find_spec, "Path": Path}
    names |= {"device": "cpu", "batch_size": 2, "models": {}, "folder": ""}
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        defines = any(f"def {name}(" in cell.source for name in CELLS)
        if cell.cell_type == "code" and (defines or cell.source.startswith("# UniEval's")):
            exec(compile(cell.source, cell.id, "exec"), names)  # noqa: S102
    return names


@pytest.fixture(scope="module")
def tokenizer():
    pytest.importorskip("torch", reason="needs the extra neural")
    transformers = pytest.importorskip("transformers", reason="needs the extra neural")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = ["<pad>", "</s>", "<unk>", "Yes", "No"]
    numbers = {word: number for number, word in enumerate(special + WORDS)}
    made = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    end = [("</s>", 1)]
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=end)
    tokens = {"pad_token": "<pad>", "unk_token": "<unk>"}
    tokens |= dict.fromkeys(("eos_token", "cls_token", "sep_token"), "</s>")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=64, **tokens
    )


@pytest.fixture
def checkpoint(tokenizer, tmp_path):
    """Save a random model of a kind with the tokenizer; return its folder and the model."""
    import torch
    import transformers

    coded = {"d_model": 16, "eos_token_id": 1, "decoder_start_token_id": 0, "pad_token_id": 0}
    bert = {"num_attention_heads": 2, "num_hidden_layers": 3, "hidden_size": 16}
    bart = {
        f"{side}_{part}": 2 for side in ("encoder", "decoder") for part in ("layers", "ffn_dim")
    }
    heads = {f"{side}_attention_heads": 2 for side in ("encoder", "decoder")}
    kinds = {
        "bert": ("BertModel", bert | {"intermediate_size": 32, "initializer_range": 0.5}),
        "bart": ("BartForConditionalGeneration", coded | bart | heads | {"init_std": 0.5}),
        "t5": (
            "T5ForConditionalGeneration",
            coded | {"d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2},
        ),
    }

    def save(kind, seed=0):
        torch.manual_seed(seed)
        head, options = kinds[kind]
        config = transformers.AutoConfig.for_model(kind, vocab_size=len(tokenizer), **options)
        model = getattr(transformers, head)(config)
        folder = tmp_path / f"{kind}{seed}"
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return str(folder), model.eval()

    return save


def row(metric, **options):
    empty = {"layer": "", "part": "", "direction": "", "references": "", "task": ""}
    return SimpleNamespace(metric=metric, **empty | options)


def next_token(model, tokenizer, source, before):
    """Log-probabilities of the token after `before`, one forward pass for it alone."""
    import torch

    given = torch.tensor([tokenizer(source)["input_ids"]])
    with torch.no_grad():
        logits = model(input_ids=given, decoder_input_ids=torch.tensor([before])).logits[0, -1]
    return logits.log_softmax(-1).tolist()


@pytest.mark.parametrize(
    "direction", ["source to hypothesis", "reference to hypothesis", "hypothesis to reference"]
)
def test_bartscore_is_the_mean_log_probability(cells, checkpoint, tokenizer, direction):
    folder, model = checkpoint("bart")

    def expected(given, text):
        ids = tokenizer(text)["input_ids"]  # the end token counts
        steps = [next_token(model, tokenizer, given, [0, *ids[:t]])[i] for t, i in enumerate(ids)]
        return sum(steps) / len(steps)

    spec = row("bartscore", direction=direction, references="mean")
    scores = cells["metric_scores"](spec, ITEMS, (folder, ""), ["fluency"])
    wanted = []
    for item in ITEMS.itertuples():
        pairs = {
            "source to hypothesis": [(item.source, item.hypothesis)],
            "reference to hypothesis": [(r, item.hypothesis) for r in item.references],
            "hypothesis to reference": [(item.hypothesis, r) for r in item.references],
        }[direction]
        wanted.append(sum(expected(*pair) for pair in pairs) / len(pairs))
    assert scores.index.tolist() == ["i0", "i1", "i2"]
    assert scores["fluency"].tolist() == pytest.approx(wanted, abs=1e-5)


def test_bertscore_matches_greedily(cells, checkpoint, tokenizer):
    import torch

    folder, model = checkpoint("bert")

    def embedded(text):
        with torch.no_grad():
            states = model(torch.tensor([tokenizer(text)["input_ids"]]), output_hidden_states=True)
        return states.hidden_states[2][0].tolist()

    def cosine(a, b):
        return sum(x * y for x, y in zip(a, b)) / math.hypot(*a) / math.hypot(*b)

    def expected(hypothesis, reference):
        x, y = embedded(hypothesis), embedded(reference)  # the last of each is the end token
        p = sum(max(cosine(m, i) for i in y) for m in x[:-1]) / len(x[:-1])
        r = sum(max(cosine(m, i) for m in x) for i in y[:-1]) / len(y[:-1])
        return [p, r, 2 * p * r / (p + r)]

    pairs = [("the dog", "a dog barked !"), ("a mat", "a mat"), ("", "a mat")]
    values = cells["bertscore"](pairs, folder, 2).to_numpy().tolist()
    assert values[0] == pytest.approx(expected(*pairs[0]), abs=1e-5)
    assert values[1:] == [pytest.approx([1, 1, 1], abs=1e-5), [0, 0, 0]]
    spec = row("bertscore", layer="2", part="f", references="max")
    best = cells["metric_scores"](spec, ITEMS, (folder, ""), ["fluency"]).loc["i0", "fluency"]
    each = [expected(ITEMS["hypothesis"][0], text)[2] for text in ITEMS["references"][0]]
    assert best == pytest.approx(max(each), abs=1e-5)


def test_unieval_is_yes_against_no(cells, checkpoint, tokenizer):
    folder, model = checkpoint("t5")
    scores = cells["unieval"](ITEMS, folder, "summarization", "relevance")
    for item, score in zip(ITEMS.itertuples(), scores):
        question = (
            "question: Is this summary relevant to the reference? </s> "
            f"summary: {item.hypothesis} </s> reference: {item.references[0]}"
        )
        yes, no = (math.exp(next_token(model, tokenizer, question, [0])[i]) for i in (3, 4))
        assert score == pytest.approx(yes / (yes + no), abs=1e-5)
    assert scores.nunique() == 3


def test_weights_are_found_in_a_folder_or_the_hubs_cache(cells, tmp_path, monkeypatch):
    pytest.importorskip("huggingface_hub", reason="needs the extra neural")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setitem(cells, "libraries", True)
    monkeypatch.setitem(cells, "folder", str(tmp_path))
    weights_of = cells["weights_of"]
    assert weights_of("BARTScore", "facebook/bart-base", "") is None
    home = tmp_path / "hub" / "models--facebook--bart-base"
    for place in (home / "snapshots" / "c0ffee", tmp_path / "bart-base"):
        place.mkdir(parents=True)
        (place / "config.json").write_text("{}")
        (home / "refs").mkdir(exist_ok=True)
        (home / "refs" / "main").write_text("c0ffee")
        assert weights_of("BARTScore", "facebook/bart-base", "") is None or place.parent == tmp_path
        (place / "model.safetensors").touch()
        assert weights_of("BARTScore", "facebook/bart-base", "") == (str(place), "")
    assert weights_of("BARTScore", "facebook/bart-base", "bart_score.pth") is None
    (tmp_path / "bart_score.pth").touch()
    found = weights_of("BARTScore", "facebook/bart-base", "bart_score.pth")
    assert found == (str(tmp_path / "bart-base"), str(tmp_path / "bart_score.pth"))
