"""Recorded replies of judges, as others published them, joined to the benchmarks by key.

gpt-3.5-turbo-0613 on Topical-Chat and SummEval (Chiang and Lee 2023: 20 samples),
gpt-3.5-turbo-0301 and gpt-4-0314 on twelve of SummEval's systems (Shen et al. 2023), six
judges of 2024 on all of SummEval (Calderon et al. 2025, scores alone), and G-Eval's GPT-4.
"""

import json

import pandas as pd

from nlgjudge.data import fetch
from nlgjudge.data.optional import ODD
from nlgjudge.data.registry import entries, prompt_files

COLUMNS = ["item_id", "aspect", "sample_index", "text"]
_NO_ITEMS = pd.DataFrame(columns=["item_id", "source", "context", "system_id"])
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
        The benchmark's items; replies to others are left out. Needed where a recording
        names texts instead of keys (Topical-Chat).
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
    if recorded_files(name) and name.startswith("closer_look/") and items is None:
        raise ValueError(f"{name} names texts, not keys: give the benchmark's items")
    frame = pd.DataFrame(_rows(name, items, files if files is not None else {}, print), columns=COLUMNS)
    repeated = frame.duplicated(COLUMNS[:3])
    if repeated.any():
        print(f"{name}: {repeated.sum()} of {len(frame)} replies repeat an item and sample and are left out, "
              f"as of {frame.loc[repeated, 'item_id'].iloc[0]}")
    kept = frame[~repeated]
    if items is not None:
        kept = kept[kept["item_id"].isin(items["item_id"])]
    return kept.reset_index(drop=True)


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
    """Whether recordings, or prompts of upstream's, can be had and read, downloading what is missing.

    A file that is here and cannot be read is named in a printed line.

    Parameters
    ----------
    *names : str
        Of `RECORDINGS`, or as ``upstream:geval/*_detailed`` for `nlgjudge.data.registry.prompt_files`.
    """
    for name in names:
        try:
            if name.startswith("upstream:"):
                for entry in prompt_files(name):
                    fetch.read(entry)
            else:
                _rows(name, _NO_ITEMS, {}, lambda line: None)
        except fetch.DataUnavailable:
            return False
        except _NoJudge:
            if name != "alttest":  # alone it stands for the file that holds all the judges
                raise
        except ValueError as error:
            print(f"left out: {error}")
            return False
    return True


class _NoJudge(KeyError):
    """A recording of several judges has none of this name."""


def _rows(name, items, files, say):
    """Read every file of a recording; `say` takes a line for rows that are left out."""
    rows = []
    family, _, model = name.partition("/")
    for entry in recorded_files(name):
        content = fetch.read(entry)
        files[entry.path] = entry.blob
        try:
            rows += _READERS[family](entry, content, items, model, say)
        except _NoJudge:
            raise
        except ODD as error:
            raise ValueError(f"{entry.path} of {entry.repository} is laid out otherwise than expected "
                             f"({type(error).__name__}: {error}); {name} cannot be read") from error
    return rows


def _closer_look(entry, content, items, _, say):
    keys = {(i.source, i.context, i.system_id): i.item_id for i in items.itertuples()}
    aspect = _ASPECTS[entry.path.split("gpt3.5_")[1].split("_")[0]]
    rows = []
    needed = ("source", "context", "system_id", "all_responses")
    for row in _complete(entry, json.loads(content), needed, say):
        key = keys.get((row["source"], row["context"], row["system_id"]))
        if key:
            rows += _samples(key, aspect, row["all_responses"])
    return rows


def _llm_summeval(entry, content, items, _, say):
    folder, file = entry.path.split("/")[-2:]
    system_id, aspect = folder.split("_")[1], file.split("_")[0]
    lines = [json.loads(line) for line in content.decode("utf-8").splitlines()]
    return [(f"{line['id']}/{system_id}", aspect, 0, _text(line["resp"]))
            for line in _complete(entry, lines, ("id", "resp"), say)]


def _alttest(entry, content, items, model, _):
    judges = json.loads(content)
    if model not in judges:
        raise _NoJudge(f"no judge {model!r} in AltTest's file; there are {', '.join(judges)}")
    parts = (key.split("__") + [score] for key, score in judges[model].items())
    return [(f"{doc_id}/{system_id}", aspect, 0, str(score)) for doc_id, system_id, aspect, score in parts]


def _geval(entry, content, items, _, say):
    aspect = _ASPECTS[entry.path.split("/")[-1].split("_")[1]]
    rows = []
    for row in _complete(entry, json.loads(content), ("doc_id", "system_id", "all_responses"), say):
        rows += _samples(f"{row['doc_id']}/{row['system_id']}", aspect, row["all_responses"])
    return rows


def _complete(entry, rows, keys, say):
    """Rows that have all the keys; how many have not is said. None at all is another layout."""
    kept = [row for row in rows if not set(keys) - set(row)]
    if rows and not kept:
        raise KeyError(f"no row has all of {', '.join(keys)}")
    if len(kept) < len(rows):
        say(f"{entry.path} of {entry.repository}: {len(rows) - len(kept)} of {len(rows)} rows lack one of "
            f"{', '.join(keys)} and are left out")
    return kept


def _samples(key, aspect, replies):
    """One row a reply; a lone text stands for a list of one."""
    replies = [replies] if isinstance(replies, str) else replies
    return [(key, aspect, i, _text(reply)) for i, reply in enumerate(replies or [])]


def _text(reply):
    return "" if reply is None else str(reply)


_READERS = {"closer_look": _closer_look, "closer_look_summeval": _geval, "llm_summeval": _llm_summeval,
            "alttest": _alttest, "geval": _geval}
