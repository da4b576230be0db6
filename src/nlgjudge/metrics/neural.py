"""BERTScore, BARTScore and UniEval by transformers (the extra `neural`).

Weights come from the model hub on first use, or from a folder; scores are cached by content
below `data/cache/neural/`, some thousand at a time, so that a stopped run goes on. `NOT_HERE`
says why other metrics are missing.
"""

from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from nlgjudge.metrics import cached
from nlgjudge.namespaces import optional

BATCH = 16
DEVICES = ("auto", "cpu", "cuda")
# Metrics that need weights and are not computed here, each with its reason.
NOT_HERE = {
    "moverscore": "no maintained implementation: the package moverscore, 1.0.3, is of April 2020",
    "prism": "no maintained implementation: it runs on fairseq, whose last release, 0.12.2, is of June 2022",
    "factcc": "not built in: a classifier that comes as research code with weights of its own",
    "qags": "not built in: models that ask and answer questions, which come as research code",
    "ctc": "not built in: an aligner that comes as research code with weights of its own",
    "usr": "not built in: models that come as research code with weights of their own",
    "perplexity": "not built in: neither the paper nor its script names the language model",
}
_CHUNK = 1024  # texts whose scores are kept together
_TOGETHER = 256  # pairs of which each text is embedded once
DIRECTIONS = {
    "source to hypothesis": ("source", "hypothesis"),
    "reference to hypothesis": ("reference", "hypothesis"),
    "hypothesis to reference": ("hypothesis", "reference"),
}
UNIEVAL = {
    "summarization": "MingZhong/unieval-sum",
    "data2text": "MingZhong/unieval-sum",
    "dialogue": "MingZhong/unieval-dialog",
    "fact": "MingZhong/unieval-fact",
}
# UniEval's questions (Zhong et al. 2022, utils.py).
QUESTIONS = {
    ("summarization", "fluency"): "Is this a fluent paragraph? </s> paragraph: {hypothesis}",
    ("summarization", "coherence"): "Is this a coherent summary to the document? </s> "
    "summary: {hypothesis} </s> document: {source}",
    ("summarization", "consistency"): "Is this claim consistent with the document? </s> "
    "claim: {hypothesis} </s> document: {source}",
    ("summarization", "relevance"): "Is this summary relevant to the reference? </s> "
    "summary: {hypothesis} </s> reference: {reference}",
    ("dialogue", "naturalness"): "Is this a natural response in the dialogue? </s> "
    "response: {hypothesis}",
    ("dialogue", "coherence"): "Is this a coherent response given the dialogue history? </s> "
    "response: {hypothesis} </s> dialogue history: {source}",
    ("dialogue", "engagingness"): "Is this an engaging and informative response according to the "
    "dialogue history and fact? </s> response: {hypothesis} </s> dialogue history: {source} </s> "
    "fact: {context}",
    ("dialogue", "groundedness"): "Is this response consistent with knowledge in the fact? </s> "
    "response: {hypothesis} </s> fact: {context}",
    ("dialogue", "understandability"): "Is this an understandable response in the dialogue? </s> "
    "response: {hypothesis}",
    ("data2text", "naturalness"): "Is this a fluent utterance? </s> utterance: {hypothesis}",
    ("data2text", "informativeness"): "Is this sentence informative according to the reference? "
    "</s> sentence: {hypothesis} </s> reference: {reference}",
}
QUESTIONS["fact", "consistency"] = QUESTIONS["summarization", "consistency"]
# How scores of single sentences are combined, where they are asked about.
OVER_SENTENCES = {
    ("summarization", "fluency"): "mean",
    ("summarization", "consistency"): "mean",
    ("fact", "consistency"): "mean",
    ("dialogue", "engagingness"): "sum",
}
_running = ("auto", BATCH)  # device and batch size, which do not change scores


@contextmanager
def running(device="auto", batch_size=BATCH):
    """Compute on a device, in batches of a size.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        ``auto`` takes the fastest.
    batch_size : int
        Texts or pairs at once.

    Raises
    ------
    ValueError
        For an unknown or absent device, or a batch size below 1.

    Examples
    --------
    >>> with running(device="cpu", batch_size=4):
    ...     pass
    """
    global _running
    if device not in DEVICES or batch_size < 1:
        raise ValueError(
            f"device={device!r}, batch_size={batch_size}: expected one of {', '.join(DEVICES)}, and at least 1"
        )
    if device == "cuda" and not optional("torch", "neural").cuda.is_available():
        raise ValueError("device='cuda': torch finds no CUDA device; use cpu or auto")
    before = _running
    _running = device, batch_size
    try:
        yield
    finally:
        _running = before


def bertscore(items, checkpoint="bert-base-uncased", layer=9, aggregation="max"):
    """Match tokens greedily by the cosine of their contextual embeddings (Zhang et al. 2020, section 3).

    P is the mean over the hypothesis's tokens of the largest cosine with a token of the
    reference, R the same from the reference, F their harmonic mean; no IDF weights, no
    rescaling. Special tokens can be matched but are not averaged, and texts for RoBERTa begin with
    a blank, as in `bert_score`.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, hypothesis, references`.
    checkpoint : str
        Hub name or folder of an encoder.
    layer : int
        Whose output is compared; the authors take 9 for bert-base-uncased, 17 for roberta-large.
    aggregation : {"first", "mean", "max"}
        Over references, of each of the three values.

    Returns
    -------
    pandas.DataFrame
        `item_id, bertscore-p, bertscore-r, bertscore-f` in [-1, 1].

    Raises
    ------
    ImportError
        Without the extra `neural`.

    Examples
    --------
    The checkpoint is fetched from the model hub, and scoring takes minutes without a GPU.

    >>> import nlgjudge as nj
    >>> items = nj.load("summeval", "sample").items
    >>> bertscore(items).columns.tolist()  # doctest: +SKIP
    ['item_id', 'bertscore-p', 'bertscore-r', 'bertscore-f']
    """
    rows = _rows(items).explode("reference")
    values = _run(_matched, rows[["hypothesis", "reference"]], checkpoint, layer)
    frame = pd.DataFrame(values, columns=["bertscore-p", "bertscore-r", "bertscore-f"])
    groups = frame.groupby(rows["item_id"].to_numpy(), sort=False)
    return groups.agg(aggregation).rename_axis("item_id").reset_index()


def bartscore(
    items,
    direction="source to hypothesis",
    checkpoint="facebook/bart-large-cnn",
    aggregation="mean",
    parameters="",
):
    r"""Mean log-likelihood of one text's tokens given another (Yuan et al. 2021, section 3).

    :math:`\frac1m \sum_t \log p(y_t \mid y_{<t}, x, \theta)` with uniform weights; the special
    tokens of `y` count, as in upstream's `bart_score.py`.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, hypothesis` and `source` or `references`.
    direction : {"source to hypothesis", "reference to hypothesis", "hypothesis to reference"}
        `x` and `y`: faithfulness, precision, recall; the F-score is the mean of the last two.
    checkpoint : str
        Hub name or folder of an encoder-decoder.
    aggregation : {"first", "mean", "max"}
        Over references.
    parameters : str
        File of a state dictionary that takes the place of the checkpoint's parameters, as
        BARTScore's ``bart_score.pth`` does.

    Returns
    -------
    pandas.DataFrame
        `item_id, score`, at most 0.

    Raises
    ------
    ValueError
        For an unknown direction.
    ImportError
        Without the extra `neural`.

    Examples
    --------
    The checkpoint is fetched from the model hub, and scoring takes minutes without a GPU.

    >>> import nlgjudge as nj
    >>> items = nj.load("summeval", "sample").items
    >>> bartscore(items, "source to hypothesis").columns.tolist()  # doctest: +SKIP
    ['item_id', 'score']
    """
    if direction not in DIRECTIONS:
        raise ValueError(f"direction={direction!r}: expected one of {', '.join(DIRECTIONS)}")
    rows = _rows(items)
    if "reference" in direction:
        rows = rows.explode("reference")
    options = [parameters, _state(parameters)] if parameters else []
    values = _run(_log_likelihood, rows[list(DIRECTIONS[direction])], checkpoint, *options)
    return _reduce(rows, values, aggregation)


def unieval(items, task, aspect, checkpoint=None):
    """Probability of Yes against No for a question about each text (Zhong et al. 2022, section 3).

    ``P(Yes) / (P(Yes) + P(No))`` for the first token of the answer. Consistency and fluency
    of summaries are asked sentence by sentence and averaged, engagingness is summed;
    sentences end at ``. ! ?`` before a blank here, upstream takes NLTK's splitter.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, hypothesis` and what the aspect asks about: `source`, `references` (the
        first), `context`.
    task, aspect : str
        A key of `QUESTIONS`.
    checkpoint : str, optional
        Hub name or folder; by default the task's in `UNIEVAL`.

    Returns
    -------
    pandas.DataFrame
        `item_id, score` in [0, 1], but for the sum over sentences.

    Raises
    ------
    ValueError
        For an aspect that the task has no question for.
    ImportError
        Without the extra `neural`.

    Examples
    --------
    The checkpoint is fetched from the model hub, and scoring takes minutes without a GPU.

    >>> import nlgjudge as nj
    >>> items = nj.load("summeval", "sample").items
    >>> unieval(items, "summarization", "fluency").columns.tolist()  # doctest: +SKIP
    ['item_id', 'score']
    """
    rows = _asked(items, task, aspect)
    values = _run(_yes, rows[["question"]], checkpoint or UNIEVAL[task])
    return _reduce(rows, values, OVER_SENTENCES.get((task, aspect), "first"))


def questions(items, task, aspect):
    """Count the questions that UniEval asks about items.

    Parameters
    ----------
    items, task, aspect
        As for `unieval`.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        For an aspect that the task has no question for.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> items = nj.load("summeval", "sample").items
    >>> len(items), questions(items, "summarization", "coherence")
    (72, 72)
    """
    return len(_asked(items, task, aspect))


def _asked(items, task, aspect):
    """The items with their `question`, by sentence where an aspect is asked so."""
    if (task, aspect) not in QUESTIONS:
        raise ValueError(
            f"task={task!r}, aspect={aspect!r}: expected one of "
            + ", ".join(map("/".join, QUESTIONS))
        )
    rows = _rows(items)
    if (task, aspect) in OVER_SENTENCES:
        split = rows["hypothesis"].str.strip().str.split(r"(?<=[.!?])\s+", regex=True)
        rows = rows.assign(hypothesis=split).explode("hypothesis")
    if "reference" in rows:
        rows["reference"] = rows["reference"].str[0]
    question = f"question: {QUESTIONS[task, aspect]}"
    return rows.assign(question=[question.format(**row) for row in rows.to_dict("records")])


def _rows(items):
    """A copy with the list of references under `reference`."""
    return pd.DataFrame(items).rename(columns={"references": "reference"}).reset_index(drop=True)


def _reduce(rows, values, how):
    groups = pd.Series(values, name="score").groupby(rows["item_id"].to_numpy(), sort=False)
    return groups.agg(how).rename_axis("item_id").reset_index()


def _run(function, columns, checkpoint, *options):
    """Score texts chunk by chunk; what was scored before is read back."""
    for module in ("torch", "transformers"):
        optional(module, "neural")
    settings = (str(checkpoint), _state(checkpoint), *options)
    about = {"libraries": ("torch", "transformers"), "folder": "neural"}
    texts = list(columns.itertuples(index=False, name=None))
    chunks = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
    return np.concatenate([cached.scores(function, part, *settings, **about) for part in chunks])


def _state(place):
    """Of a file or a folder its state is part of the key; a hub's name stands for itself."""
    files = [Path(place)] if Path(place).is_file() else Path(place).glob("*")
    found = []
    for path in files:
        about = path.stat()
        found.append((path.name, about.st_size, about.st_mtime_ns))
    return str(sorted(found))


@lru_cache(maxsize=1)
def _load(head, checkpoint, state, device, parameters=""):
    """Tokenizer as a function of texts, and the model, on a device."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    model = getattr(transformers, head).from_pretrained(checkpoint)
    if parameters:
        _take(model, torch.load(parameters, map_location="cpu", weights_only=True), parameters)
    model = model.eval().requires_grad_(False).to(_fastest() if device == "auto" else device)
    longest = min(
        tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 1024), 1024
    )

    def encode(texts):
        return tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=longest,
            return_special_tokens_mask=True,
            return_token_type_ids=False,
            return_tensors="pt",
        ).to(model.device)

    return encode, tokenizer, model


def _fastest():
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _take(model, parameters, file):
    """Put a file's parameters into a model; what the model shares between layers may be there once."""
    missing, unexpected = model.load_state_dict(parameters, strict=False)
    pointers = {name: value.data_ptr() for name, value in model.state_dict().items()}
    filled = {pointers[name] for name in parameters if name in pointers}
    missing = [name for name in missing if pointers[name] not in filled]
    if missing or unexpected:
        raise ValueError(
            f"{file}: expected the parameters of {model.config.model_type}, got {len(unexpected)} "
            f"others, and {len(missing)} are missing, as {[*missing, *unexpected][0]}"
        )


def _batches(texts):
    size = _running[1]
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def _matched(pairs, checkpoint, state, layer):
    """BERTScore's precision, recall and F of each pair of hypothesis and reference."""
    encode, _, model = _load("AutoModel", checkpoint, state, _running[0])
    if layer > model.config.num_hidden_layers:
        raise ValueError(f"layer={layer}: {checkpoint} has {model.config.num_hidden_layers} layers")
    blank = " " if model.config.model_type == "roberta" else ""
    rows = []
    for start in range(0, len(pairs), _TOGETHER):
        part = pairs[start : start + _TOGETHER]
        texts = {text: blank + text.strip() for pair in part for text in pair}
        embedded = _embedded(sorted(set(texts.values()), key=len), encode, model, layer)
        rows += [
            _best_matches(*embedded[texts[hypothesis]], *embedded[texts[reference]])
            for hypothesis, reference in part
        ]
    return rows


def _embedded(texts, encode, model, layer):
    """Of each text, the unit vectors of its tokens and which of them are words."""
    found = {}
    for part in _batches(texts):
        tokens = encode(part)
        special = tokens.pop("special_tokens_mask").bool()
        states = model(**tokens, output_hidden_states=True).hidden_states[layer]
        states = states / states.norm(dim=-1, keepdim=True)
        for place, text in enumerate(part):
            filled = tokens["attention_mask"][place].bool()
            found[text] = states[place][filled], ~special[place][filled]
    return found


def _best_matches(mine, my_words, theirs, their_words):
    """Precision, recall and F of a hypothesis's vectors against a reference's; 0 where either has no word."""
    if not (my_words.any() and their_words.any()):
        return 0.0, 0.0, 0.0
    cosine = mine @ theirs.T
    precision = cosine.amax(1)[my_words].mean().item()
    recall = cosine.amax(0)[their_words].mean().item()
    return precision, recall, 2 * precision * recall / (precision + recall)


def _log_likelihood(pairs, checkpoint, state, parameters="", parameters_state=""):
    """Mean log-likelihood of the second text's tokens given the first, pair by pair."""
    encode, _, model = _load(
        "AutoModelForSeq2SeqLM", checkpoint, state + parameters_state, _running[0], parameters
    )
    values = []
    for part in _batches(pairs):
        first, second = zip(*part)
        given = encode(first)
        target = encode(second)
        labels = target["input_ids"]
        mask = target["attention_mask"]
        logits = model(
            input_ids=given["input_ids"], attention_mask=given["attention_mask"], labels=labels
        ).logits
        tokens = logits.log_softmax(-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        values += ((tokens * mask).sum(1) / mask.sum(1)).tolist()
    return values


def _yes(texts, checkpoint, state):
    """Probability of Yes against No as the answer's first token, question by question."""
    import torch

    encode, tokenizer, model = _load("AutoModelForSeq2SeqLM", checkpoint, state, _running[0])
    answers = [tokenizer(word)["input_ids"][0] for word in ("Yes", "No")]
    values = []
    for part in _batches([text for (text,) in texts]):
        given = encode(part)
        start = torch.full((len(part), 1), model.config.decoder_start_token_id, device=model.device)
        logits = model(
            input_ids=given["input_ids"],
            attention_mask=given["attention_mask"],
            decoder_input_ids=start,
        ).logits
        values += logits[:, 0, answers].softmax(-1)[:, 0].tolist()
    return values
