"""Recorded replies of judges, as others published them, joined to the benchmarks by key.

gpt-3.5-turbo-0613 on Topical-Chat and SummEval (Chiang and Lee 2023: 20 samples),
gpt-3.5-turbo-0301 and gpt-4-0314 on twelve of SummEval's systems (Shen et al. 2023), six
judges of 2024 on all of SummEval (Calderon et al. 2025, scores alone), and G-Eval's GPT-4.
"""

import json

import pandas as pd

from nlgjudge.data import fetch
from nlgjudge.data.registry import entries

COLUMNS = ["item_id", "aspect", "sample_index", "text"]
_ASPECTS = {"coh": "coherence", "con": "consistency", "flu": "fluency", "rel": "relevance",
            "eng": "engagingness", "gro": "groundedness", "nat": "naturalness"}
_CLOSER = ("geval", "geval_no_auto_cot", "rate_explain", "analyze_rate")
RECORDINGS = {
    **{f"closer_look/{form}": ("topical_chat", f"results/topical_chat/gpt3.5_*_{form}.json")
       for form in _CLOSER},
    **{f"closer_look_summeval/{form}": ("summeval", f"results/summeval/gpt3.5_*_{form}.json")
       for form in _CLOSER[:2]},
    "llm_summeval/gpt-3.5/stars": ("summeval", "gpt-3.5-turbo-0301/*_stareval.txt"),
    "llm_summeval/gpt-3.5/reason_then_score": ("summeval", "gpt-3.5-turbo-0301/*_rts.txt"),
    "llm_summeval/gpt-4/reason_then_score": ("summeval", "gpt-4-0314/*_rts.txt"),
    "alttest": ("summeval", "data/summeval/llm_annotations.json"),
    "geval/gpt-4": ("summeval", "results/gpt4_*_detailed.json"),
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


def recorded_files(name):
    """Registered files of a recording.

    Raises
    ------
    KeyError
        For an unknown name.
    """
    family = name.partition("/")[0]
    if name not in RECORDINGS and family != "alttest":
        raise KeyError(f"no recording {name!r}; there are {', '.join(RECORDINGS)}")
    benchmark, pattern = RECORDINGS["alttest" if family == "alttest" else name]
    start, _, end = pattern.partition("*")
    return [e for e in entries(benchmark, role="recording")
            if start in e.path and e.path.endswith(end)
            and (family != "closer_look" or e.path[len(start):-len(end)] in _ASPECTS)]


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
        raise KeyError(f"no judge {model!r} in AltTest's file; there are {', '.join(judges)}")
    parts = (key.split("__") + [score] for key, score in judges[model].items())
    return [(f"{doc_id}/{system_id}", aspect, 0, str(score)) for doc_id, system_id, aspect, score in parts]


def _geval(entry, content, *_):
    aspect = _ASPECTS[entry.path.split("/")[-1].split("_")[1]]
    return [(f"{row['doc_id']}/{row['system_id']}", aspect, i, text)
            for row in json.loads(content) for i, text in enumerate(row["all_responses"])]


_READERS = {"closer_look": _closer_look, "closer_look_summeval": _geval, "llm_summeval": _llm_summeval,
            "alttest": _alttest, "geval": _geval}
