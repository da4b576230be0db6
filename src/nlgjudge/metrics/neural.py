"""BERTScore, BARTScore and UniEval by transformers (``pip install 'nlgjudge[neural]'``).

Weights come from the model hub on first use, or from a folder; scores are cached by content
below `data/cache/neural/`. MoverScore and PRISM are not here: no library that offers them is
kept up.
"""

import re
from functools import lru_cache
from pathlib import Path

import pandas as pd

from nlgjudge.metrics import cached

BATCH = 16
DIRECTIONS = {"source to hypothesis": ("source", "hypothesis"),
              "reference to hypothesis": ("reference", "hypothesis"),
              "hypothesis to reference": ("hypothesis", "reference")}
UNIEVAL = {"summarization": "MingZhong/unieval-sum", "data2text": "MingZhong/unieval-sum",
           "dialogue": "MingZhong/unieval-dialog", "fact": "MingZhong/unieval-fact"}
# UniEval's questions (Zhong et al. 2022, utils.py): the question, what the hypothesis is called, which
# column follows under which name, and how scores of single sentences are reduced, where they are asked.
_CLAIM = ("Is this claim consistent with the document?", "claim", {"document": "source"}, "mean")
QUESTIONS = {
    ("summarization", "fluency"): ("Is this a fluent paragraph?", "paragraph", {}, "mean"),
    ("summarization", "coherence"): ("Is this a coherent summary to the document?", "summary",
                                     {"document": "source"}, None),
    ("summarization", "consistency"): _CLAIM,
    ("summarization", "relevance"): ("Is this summary relevant to the reference?", "summary",
                                     {"reference": "reference"}, None),
    ("dialogue", "naturalness"): ("Is this a natural response in the dialogue?", "response", {}, None),
    ("dialogue", "coherence"): ("Is this a coherent response given the dialogue history?", "response",
                                {"dialogue history": "source"}, None),
    ("dialogue", "engagingness"): (
        "Is this an engaging and informative response according to the dialogue history and fact?",
        "response", {"dialogue history": "source", "fact": "context"}, "sum"),
    ("dialogue", "groundedness"): ("Is this response consistent with knowledge in the fact?", "response",
                                   {"fact": "context"}, None),
    ("dialogue", "understandability"): ("Is this an understandable response in the dialogue?", "response",
                                        {}, None),
    ("data2text", "naturalness"): ("Is this a fluent utterance?", "utterance", {}, None),
    ("data2text", "informativeness"): ("Is this sentence informative according to the reference?",
                                       "sentence", {"reference": "reference"}, None),
    ("fact", "consistency"): _CLAIM,
}


def bertscore(items, checkpoint="bert-base-uncased", layer=9):
    """Match tokens greedily by the cosine of their contextual embeddings (Zhang et al. 2020, section 3).

    P is the mean over the hypothesis's tokens of the largest cosine with a token of the
    reference, R the same from the reference, F their harmonic mean; no IDF weights, no
    rescaling. Special tokens can be matched but are not averaged, as in `bert_score`.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, hypothesis, references`.
    checkpoint : str
        Hub name or folder of an encoder.
    layer : int
        Whose output is compared; the authors take 9 for bert-base-uncased, 17 for roberta-large.

    Returns
    -------
    pandas.DataFrame
        `item_id, bertscore-p, bertscore-r, bertscore-f` in [-1, 1], each the best over references.

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
    values = _run(_greedy, rows[["hypothesis", "reference"]], checkpoint, layer)
    frame = pd.DataFrame(values, columns=["bertscore-p", "bertscore-r", "bertscore-f"])
    return frame.groupby(rows["item_id"].to_numpy(), sort=False).max().rename_axis("item_id").reset_index()


def bartscore(items, direction="source to hypothesis", checkpoint="facebook/bart-large-cnn",
              aggregation="mean"):
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
    values = _run(_log_likelihood, rows[list(DIRECTIONS[direction])], checkpoint)
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
    if (task, aspect) not in QUESTIONS:
        raise ValueError(f"task={task!r}, aspect={aspect!r}: expected one of "
                         + ", ".join(map("/".join, QUESTIONS)))
    question, name, others, over_sentences = QUESTIONS[task, aspect]
    rows = _rows(items)
    if over_sentences:
        rows["hypothesis"] = rows["hypothesis"].map(lambda text: re.split(r"(?<=[.!?])\s+", text.strip()))
        rows = rows.explode("hypothesis")
    if "reference" in others.values():
        rows["reference"] = rows["reference"].str[0]
    text = f"question: {question} </s> {name}: " + rows["hypothesis"]
    for label, column in others.items():
        text += f" </s> {label}: " + rows[column]
    values = _run(_yes, text.to_frame(), checkpoint or UNIEVAL[task])
    return _reduce(rows, values, over_sentences or "first")


def _rows(items):
    """A copy with the list of references under `reference`."""
    return pd.DataFrame(items).rename(columns={"references": "reference"}).reset_index(drop=True)


def _reduce(rows, values, how):
    groups = pd.Series(values, name="score").groupby(rows["item_id"].to_numpy(), sort=False)
    return groups.agg(how).rename_axis("item_id").reset_index()


def _run(function, columns, checkpoint, *options):
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise ImportError("neural baselines need torch and transformers: "
                          "pip install 'nlgjudge[neural]'") from error
    # Of a folder the state is part of the key; a hub's name stands for itself.
    state = []
    for path in Path(checkpoint).glob("*"):
        about = path.stat()
        state.append((path.name, about.st_size, about.st_mtime_ns))
    state.sort()
    return cached.scores(function, columns.to_numpy().tolist(), str(checkpoint), str(state), *options,
                         libraries=("torch", "transformers"), folder="neural", parallel=False)


@lru_cache(maxsize=1)
def _load(head, checkpoint, state):
    """Tokenizer as a function of texts, and the model, on the fastest device there is."""
    import torch
    import transformers

    if torch.cuda.is_available():
        device = "cuda"
    elif torch.backends.mps.is_available():
        device = "mps"
    else:
        device = "cpu"
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    model = getattr(transformers, head).from_pretrained(checkpoint)
    model = model.eval().requires_grad_(False).to(device)
    longest = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 1024), 1024)

    def encode(texts):
        return tokenizer(list(texts), padding=True, truncation=True, max_length=longest,
                         return_special_tokens_mask=True, return_token_type_ids=False,
                         return_tensors="pt").to(device)
    return encode, tokenizer, model


def _batches(texts):
    return (texts[i:i + BATCH] for i in range(0, len(texts), BATCH))


def _greedy(pairs, checkpoint, state, layer):
    """BERTScore's precision, recall and F of each pair of hypothesis and reference."""
    encode, _, model = _load("AutoModel", checkpoint, state)
    rows = []
    for part in _batches(pairs):
        texts = list(dict.fromkeys(text for pair in part for text in pair))
        tokens = encode(texts)
        special = tokens.pop("special_tokens_mask").bool()
        states = model(**tokens, output_hidden_states=True).hidden_states[layer]
        states = states / states.norm(dim=-1, keepdim=True)
        # Of each text, the unit vectors of its tokens and which of them are words.
        embedded = {}
        for place, text in enumerate(texts):
            filled = tokens["attention_mask"][place].bool()
            embedded[text] = states[place][filled], ~special[place][filled]
        rows += [_best_matches(*embedded[hypothesis], *embedded[reference]) for hypothesis, reference in part]
    return rows


def _best_matches(mine, my_words, theirs, their_words):
    """Precision, recall and F of a hypothesis's vectors against a reference's; 0 where either has no word."""
    if not (my_words.any() and their_words.any()):
        return 0.0, 0.0, 0.0
    cosine = mine @ theirs.T
    precision = cosine.amax(1)[my_words].mean().item()
    recall = cosine.amax(0)[their_words].mean().item()
    return precision, recall, 2 * precision * recall / (precision + recall)


def _log_likelihood(pairs, checkpoint, state):
    """Mean log-likelihood of the second text's tokens given the first, pair by pair."""
    encode, _, model = _load("AutoModelForSeq2SeqLM", checkpoint, state)
    values = []
    for part in _batches(pairs):
        first, second = zip(*part)
        given = encode(first)
        target = encode(second)
        labels = target["input_ids"]
        mask = target["attention_mask"]
        logits = model(input_ids=given["input_ids"], attention_mask=given["attention_mask"],
                       labels=labels).logits
        tokens = logits.log_softmax(-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        values += ((tokens * mask).sum(1) / mask.sum(1)).tolist()
    return values


def _yes(texts, checkpoint, state):
    """Probability of Yes against No as the answer's first token, question by question."""
    import torch

    encode, tokenizer, model = _load("AutoModelForSeq2SeqLM", checkpoint, state)
    answers = [tokenizer(word)["input_ids"][0] for word in ("Yes", "No")]
    values = []
    for part in _batches([text for text, in texts]):
        given = encode(part)
        start = torch.full((len(part), 1), model.config.decoder_start_token_id, device=model.device)
        logits = model(input_ids=given["input_ids"], attention_mask=given["attention_mask"],
                       decoder_input_ids=start).logits
        values += logits[:, 0, answers].softmax(-1)[:, 0].tolist()
    return values
