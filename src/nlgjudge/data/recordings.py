"""Recorded replies of judges, as others published them, joined to the benchmarks by key.

gpt-3.5-turbo-0613 on Topical-Chat and SummEval (Chiang and Lee 2023: 20 samples),
gpt-3.5-turbo-0301 and gpt-4-0314 on twelve of SummEval's systems (Shen et al. 2023), six
judges of 2024 on all of SummEval (Calderon et al. 2025, scores alone), and G-Eval's GPT-4.
"""

import json
from typing import NamedTuple

import pandas as pd

from nlgjudge.data import benchmarks, fetch
from nlgjudge.data.choices import unknown
from nlgjudge.data.registry import entries

COLUMNS = ["item_id", "aspect", "sample_index", "text"]
_ASPECTS = {"coh": "coherence", "con": "consistency", "flu": "fluency", "rel": "relevance",
            "eng": "engagingness", "gro": "groundedness", "nat": "naturalness"}


class Recorded(NamedTuple):
    """What a recording is a recording of.

    Attributes
    ----------
    benchmark : str
        Whose texts were judged.
    files : str
        The registered files, as they end, with a star for what differs.
    model : str or None
        As its publishers call it.
    prompt : str or None
        Name of the prompt with ``{aspect}`` in it; None where its words are not registered here.
    sampling : dict
        Sampling parameters that its publishers state; any other is unknown.
    samples : int or None
        Replies an item and aspect.
    scales : dict of str to tuple
        Lowest and highest rating that was asked for, by aspect.
    note : str
        What is not known, and why.
    """

    benchmark: str = ""
    files: str = ""
    model: str | None = None
    prompt: str | None = None
    sampling: dict = {}
    samples: int | None = None
    scales: dict = {}
    note: str = ""


_DIALOGUE = {"naturalness": (1, 3), "coherence": (1, 3), "engagingness": (1, 3), "groundedness": (0, 1)}
_SUMMARIES = dict.fromkeys(("coherence", "consistency", "fluency", "relevance"), (1, 5))
# Chiang and Lee 2023, section 2.3: "we use ChatGPT (gpt3.5-turbo-0613)"; appendix C: "For each attribute of
# each sample, the rating of ChatGPT is obtained by 20 samples; we set the decoding temperature to 1 and the
# top-p in nucleus sampling to 1, following G-Eval". What its files hold as prompts are the registered files
# with the items' texts in their slots, to the letter (tests/data/test_recordings.py).
_CLOSER = ("geval", "geval_no_auto_cot", "rate_explain", "analyze_rate")
_CLOSER_SAMPLING = {"temperature": 1, "top_p": 1}
_CLOSER_SUMMARIES = Recorded(
    "summeval", "", "gpt-3.5-turbo-0613", None, _CLOSER_SAMPLING, 20, _SUMMARIES,
    "the prompts on summaries are not registered here")
# Shen et al. 2023; "from one to five" in the words of the repository's prompt_templates.py.
_SHEN = Recorded("summeval", "", None, None, {}, 1, _SUMMARIES,
                 "its prompts and sampling parameters are not registered here")
RECORDINGS = {
    **{f"closer_look/{form}": Recorded(
        "topical_chat", f"results/topical_chat/gpt3.5_*_{form}.json", "gpt-3.5-turbo-0613",
        f"upstream:d223302/{{aspect:.3}}_{form}", _CLOSER_SAMPLING, 20, _DIALOGUE,
        "the longest reply allowed is not stated") for form in _CLOSER},
    **{f"closer_look_summeval/{form}": _CLOSER_SUMMARIES._replace(
        files=f"results/summeval/gpt3.5_*_{form}.json") for form in _CLOSER[:2]},
    "llm_summeval/gpt-3.5/stars": _SHEN._replace(
        files="gpt-3.5-turbo-0301/*_stareval.txt", model="gpt-3.5-turbo-0301"),
    "llm_summeval/gpt-3.5/reason_then_score": _SHEN._replace(
        files="gpt-3.5-turbo-0301/*_rts.txt", model="gpt-3.5-turbo-0301"),
    "llm_summeval/gpt-4/reason_then_score": _SHEN._replace(
        files="gpt-4-0314/*_rts.txt", model="gpt-4-0314"),
    # Calderon et al. 2025 publish scores alone; an unparsed reply was stored as 3.
    "alttest": Recorded(
        "summeval", "data/summeval/llm_annotations.json", None, None, {}, 1, _SUMMARIES,
        "scores alone are published, without prompt and sampling parameters"),
    # G-Eval, section 3.1: "we set 'n = 20, temperature = 1, top_p = 1' to sample 20 times". The script that
    # the authors released (gpt4_eval.py) sets a temperature of 2 and 5 tokens at most: neither is certain.
    "geval/gpt-4": Recorded(
        "summeval", "results/gpt4_*_detailed.json", "gpt-4", "upstream:geval/{aspect:.3}_detailed",
        {"top_p": 1}, 20, _SUMMARIES | {"fluency": (1, 3)},
        "the paper states a temperature of 1, the released script has 2"),
}


def recording(name, items=None, *, files=None):
    """Read recorded replies.

    Parameters
    ----------
    name : str
        One of `RECORDINGS`; ``alttest/<model>`` takes one of its judges.
    items : pandas.DataFrame, optional
        The benchmark's items, needed where a recording names texts instead of keys
        (Topical-Chat); replies to other items are left out.
    files : dict, optional
        Filled with the files read and their blob ids.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect, sample_index, text`, in the recording's order. Items that were
        not recorded are absent.

    Raises
    ------
    KeyError
        For an unknown name.
    ValueError
        When the items are needed and not given.
    nlgjudge.data.fetch.DataUnavailable
        When a file cannot be had.
    """
    rows, chosen = [], recorded_files(name)
    family, _, model = name.partition("/")
    if family == "closer_look" and items is None:
        raise ValueError(f"{name} names texts, not keys: give the benchmark's items")
    for entry in chosen:
        content = fetch.read(entry)
        if files is not None:
            files[entry.path] = entry.blob
        rows += _READERS[family](entry, content, items, model)
    return pd.DataFrame(rows, columns=COLUMNS)


def recorded(name):
    """Say what a recording holds.

    Parameters
    ----------
    name : str
        As for `recording`.

    Returns
    -------
    Recorded

    Raises
    ------
    KeyError
        For an unknown name.

    Examples
    --------
    >>> held = recorded("closer_look/geval")
    >>> held.model, held.samples, held.sampling
    ('gpt-3.5-turbo-0613', 20, {'temperature': 1, 'top_p': 1})
    """
    family, _, model = name.partition("/")
    if family == "alttest":
        return RECORDINGS["alttest"]._replace(model=model or None)
    if name not in RECORDINGS:
        raise KeyError(unknown("recording", name, RECORDINGS))
    return RECORDINGS[name]


def recorded_files(name):
    """Registered files of a recording.

    Raises
    ------
    KeyError
        For an unknown name.
    """
    held = recorded(name)
    start, _, end = held.files.partition("*")
    found = [e for e in entries(held.benchmark, role="recording")
             if start in e.path and e.path.endswith(end)]
    if name.startswith("closer_look/"):  # other prompts of theirs have longer names that end alike
        found = [e for e in found if e.path[len(start):-len(end)] in _ASPECTS]
    return found


def recorded_texts(name):
    """Texts that were judged, to tell them from others under the same key.

    Parameters
    ----------
    name : str
        As for `recording`.

    Returns
    -------
    dict of str to dict
        By item, `source, hypothesis, context`; empty where the benchmark cannot be had.
    """
    try:
        items = benchmarks.load(recorded(name).benchmark, "real").items
    except fetch.DataUnavailable:
        return {}
    fields = ["source", "hypothesis", "context"]
    return dict(zip(items["item_id"], items[fields].to_dict("records")))


def available(*names):
    """Whether every file of these recordings can be had, downloading what is missing."""
    try:
        for name in names:
            for entry in recorded_files(name):
                fetch.read(entry)
    except fetch.DataUnavailable:
        return False
    return True


def _closer_look(entry, content, items, _):
    keys = {(i.source, i.context, i.system_id): i.item_id for i in items.itertuples()}
    aspect = _ASPECTS[entry.path.split("gpt3.5_")[1].split("_")[0]]
    rows = [(keys.get((row["source"], row["context"], row["system_id"])), row["all_responses"])
            for row in json.loads(content)]
    return [(key, aspect, i, text) for key, texts in rows if key for i, text in enumerate(texts)]


def _llm_summeval(entry, content, *_):
    folder, file = entry.path.split("/")[-2:]
    system_id, aspect = folder.split("_")[1], file.split("_")[0]
    lines = map(json.loads, content.decode("utf-8").splitlines())
    return [(f"{line['id']}/{system_id}", aspect, 0, line["resp"]) for line in lines]


def _alttest(_, content, __, model):
    judges = json.loads(content)
    if model not in judges:
        raise KeyError(unknown("judge of AltTest", model, judges))
    parts = (key.split("__") + [score] for key, score in judges[model].items())
    return [(f"{doc_id}/{system_id}", aspect, 0, str(score)) for doc_id, system_id, aspect, score in parts]


def _geval(entry, content, *_):
    aspect = _ASPECTS[entry.path.split("/")[-1].split("_")[1]]
    return [(f"{row['doc_id']}/{row['system_id']}", aspect, i, text)
            for row in json.loads(content) for i, text in enumerate(row["all_responses"])]


_READERS = {"closer_look": _closer_look, "closer_look_summeval": _geval, "llm_summeval": _llm_summeval,
            "alttest": _alttest, "geval": _geval}
