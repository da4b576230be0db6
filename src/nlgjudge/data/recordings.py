"""Recorded replies of judges, as others published them, joined to the benchmarks by key.

gpt-3.5-turbo-0613 on Topical-Chat and SummEval (Chiang and Lee 2023: 20 samples),
gpt-3.5-turbo-0301 and gpt-4-0314 on twelve of SummEval's systems (Shen et al. 2023), six
judges of 2024 on all of SummEval (Calderon et al. 2025, scores alone), G-Eval's GPT-4, and token
probabilities of four models on all of SummEval (Sheng et al. 2025).
"""

import json
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

import pandas as pd

from nlgjudge.data import benchmarks, fetch, rating_logprobs
from nlgjudge.data.choices import unknown
from nlgjudge.data.optional import ODD
from nlgjudge.data.registry import entries, prompt_files

COLUMNS = ["item_id", "aspect", "sample_index", "text"]
_WITH_LOGPROBS = [*COLUMNS, "logprobs"]
_NO_ITEMS = pd.DataFrame(columns=["item_id", "source", "context", "system_id"])
_ASPECTS = {
    "coh": "coherence",
    "con": "consistency",
    "flu": "fluency",
    "rel": "relevance",
    "eng": "engagingness",
    "gro": "groundedness",
    "nat": "naturalness",
}


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
    form, pattern : str
        How its replies are read, as `nlgjudge.judging.parsing.parse` takes them.
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
    form: str = "form"
    pattern: str = ""


_DIALOGUE = {
    "naturalness": (1, 3),
    "coherence": (1, 3),
    "engagingness": (1, 3),
    "groundedness": (0, 1),
}
_SUMMARIES = dict.fromkeys(("coherence", "consistency", "fluency", "relevance"), (1, 5))
# Chiang and Lee 2023, section 2.3: "we use ChatGPT (gpt3.5-turbo-0613)"; appendix C: "For each attribute of
# each sample, the rating of ChatGPT is obtained by 20 samples; we set the decoding temperature to 1 and the
# top-p in nucleus sampling to 1, following G-Eval". What its files hold as prompts are the registered files
# with the items' texts in their slots, to the letter (tests/data/test_recordings.py).
_CLOSER = ("geval", "geval_no_auto_cot", "rate_explain", "analyze_rate")
_CLOSER_SAMPLING = {"temperature": 1, "top_p": 1}
# Ratings that the default does not read. Chiang and Lee: "2 (somewhat)", "2. Somewhat", "Good (3)", or a rating above
# its rationale; not "1. Somewhat", which may number a list.
_OPENING = (
    r"\A(?:- |(?:good|somewhat) \()?(?!1\. )(?P<rating>\d)"
    r"(?:\)\Z|\s*\nRationale:|(?: ?[.:-])? \(?[a-z][^\n]*\Z)"
)
# Shen et al.: "4 stars", "a score of 4", "it gets a 4 out of 5", or a last number; unless "Score: 4" follows.
_SENTENCE = (
    r"(?:\b(?:scor|rat|earn|gets|giv|receiv|deserv|making)\w* "
    r"(?:(?:it|this|the|summary|is|of|as|an?|with|only|at|score|rating) )*"
    r"|\A(?=\w+ stars?\b)|\b(?=[\d.]+ stars?\b)|[.;!?]\"? (?=[\d.]+(?:/5| out of 5)?\.?\Z)"
    r"|\((?=\d(?:/5)?\)\.\Z))"
    r"(?P<rating>\d(?:\.\d)?|one|two|three|four|five)(?![\d-]|\.\d| (?:to|or) )"
    r"(?:(?: | stars? | points? )?(?:/|out of )(?P<top>\w+))?(?![\s\S]*\bscore: \d)"
)
# Shen et al. 2023; "from one to five" in the words of the repository's prompt_templates.py.
_SHEN = Recorded(
    benchmark="summeval",
    samples=1,
    scales=_SUMMARIES,
    pattern=_SENTENCE,
    note="its prompts and sampling parameters are not registered here",
)
RECORDINGS = {}
for _form in _CLOSER:
    RECORDINGS[f"closer_look/{_form}"] = Recorded(
        benchmark="topical_chat",
        files=f"results/topical_chat/gpt3.5_*_{_form}.json",
        model="gpt-3.5-turbo-0613",
        prompt=f"upstream:d223302/{{aspect:.3}}_{_form}",
        sampling=_CLOSER_SAMPLING,
        samples=20,
        scales=_DIALOGUE,
        pattern=_OPENING,
        note="the longest reply allowed is not stated",
    )
for _form in ("geval", "geval_no_auto_cot"):
    RECORDINGS[f"closer_look_summeval/{_form}"] = Recorded(
        benchmark="summeval",
        files=f"results/summeval/gpt3.5_*_{_form}.json",
        model="gpt-3.5-turbo-0613",
        sampling=_CLOSER_SAMPLING,
        samples=20,
        scales=_SUMMARIES,
        note="the prompts on summaries are not registered here",
    )
RECORDINGS["llm_summeval/gpt-3.5/stars"] = _SHEN._replace(
    files="gpt-3.5-turbo-0301/*_stareval.txt", model="gpt-3.5-turbo-0301"
)
RECORDINGS["llm_summeval/gpt-3.5/reason_then_score"] = _SHEN._replace(
    files="gpt-3.5-turbo-0301/*_rts.txt", model="gpt-3.5-turbo-0301"
)
RECORDINGS["llm_summeval/gpt-4/reason_then_score"] = _SHEN._replace(
    files="gpt-4-0314/*_rts.txt", model="gpt-4-0314"
)
# Calderon et al. 2025 publish scores alone; an unparsed reply was stored as 3.
RECORDINGS["alttest"] = Recorded(
    benchmark="summeval",
    files="data/summeval/llm_annotations.json",
    samples=1,
    scales=_SUMMARIES,
    note="scores alone are published, without prompt and sampling parameters",
)
# G-Eval, section 3.1: "we set 'n = 20, temperature = 1, top_p = 1' to sample 20 times". The script that
# the authors released (gpt4_eval.py) sets a temperature of 2 and 5 tokens at most: neither is certain.
RECORDINGS["geval/gpt-4"] = Recorded(
    benchmark="summeval",
    files="results/gpt4_*_detailed.json",
    model="gpt-4",
    prompt="upstream:geval/{aspect:.3}_detailed",
    sampling={"top_p": 1},
    samples=20,
    scales=_SUMMARIES | {"fluency": (1, 3)},
    note="the paper states a temperature of 1, the released script has 2",
)
# Sheng et al. 2025 (arXiv 2509.18658). gpt-4o-mini's file of one prompt is, row by row, the third prompt of its file of
# five; which of the five released texts that is, and what the others were asked, is not known. The released texts
# ask for 1 to 5 in fluency too, where G-Eval asks for 1 to 3 (tests/data/test_rating_logprobs.py).
_NO_PROMPT = "which prompt was asked, and at which sampling parameters, is not registered here"
# By model, its folder and the order of its rows.
_LOGPROBS = {
    "gpt-4o-mini": ("4omini", "sorted"),
    "qwen2.5-72b": ("qwen", "released"),
    "deepseek-r1-32b": ("dsr1", "released"),
}
_PARAPHRASED = {"gpt-4o-mini": "4omini", "gpt-4o": "4o"}
_FULL_NAMES = {
    "qwen2.5-72b": "Qwen2.5-72B-Instruct",
    "deepseek-r1-32b": "DeepSeek-R1-Distill-Qwen-32B",
}
for _model, (_folder, _) in _LOGPROBS.items():
    RECORDINGS[f"uncertainty/{_model}"] = Recorded(
        benchmark="summeval",
        files=f"model_logits/{_folder}/Summeval_*_logits.csv",
        model=_FULL_NAMES.get(_model, _model),
        sampling={"logprobs": True},
        samples=1,
        scales=_SUMMARIES,
        note=f"log-probabilities of the ratings, whose likeliest is the text; {_NO_PROMPT}",
    )
for _model, _folder in _PARAPHRASED.items():
    RECORDINGS[f"uncertainty_prompts/{_model}"] = Recorded(
        benchmark="summeval",
        files=f"prompt_sensitivity/logits/{_folder}_*.csv",
        model=_model,
        sampling={"logprobs": True},
        samples=rating_logprobs.PROMPTS,
        scales=_SUMMARIES,
        note=f"log-probabilities under five prompts of one meaning, which the samples number; {_NO_PROMPT}",
    )


def recording(name, items=None, *, files=None, load=None):
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
    load : callable, optional
        As for `available`.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect, sample_index, text`, in the recording's order; and `logprobs` of a recording
        that holds token probabilities, as a `Reply` has them. Items that were not recorded are absent.

    Raises
    ------
    KeyError
        For an unknown name.
    ValueError
        When the items are needed and not given.
    nlgjudge.data.fetch.DataUnavailable
        When a file cannot be had.

    Examples
    --------
    >>> "llm_summeval/gpt-4/reason_then_score" in RECORDINGS
    True

    The released replies are fetched, which needs a network or a mirror.

    >>> replies = recording("llm_summeval/gpt-4/reason_then_score")  # doctest: +SKIP
    >>> len(replies), replies.columns.tolist()  # doctest: +SKIP
    (4800, ['item_id', 'aspect', 'sample_index', 'text'])
    """
    if recorded_files(name) and name.startswith("closer_look/") and items is None:
        raise ValueError(f"{name} names texts, not keys: give the benchmark's items")
    if files is None:
        files = {}
    columns = _WITH_LOGPROBS if name.startswith("uncertainty") else COLUMNS
    rows = list(chain.from_iterable(_rows(name, items, files, print, load)))
    frame = pd.DataFrame(rows, columns=columns)
    repeated = frame.duplicated(COLUMNS[:3])
    if repeated.any():
        print(
            f"{name}: {repeated.sum()} of {len(frame)} replies repeat an item and sample and are left out, "
            f"as of {frame.loc[repeated, 'item_id'].iloc[0]}"
        )
    kept = frame[~repeated]
    if items is not None:
        kept = kept[kept["item_id"].isin(items["item_id"])]
    return kept.reset_index(drop=True)


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
        raise KeyError(unknown("recording", name, RECORDINGS, most=len(RECORDINGS)))
    return RECORDINGS[name]


def recorded_files(name):
    """Registered files of a recording.

    Raises
    ------
    KeyError
        For an unknown name.

    Examples
    --------
    >>> [entry.path for entry in recorded_files("alttest")]
    ['data/summeval/llm_annotations.json']
    """
    held = recorded(name)
    start, _, end = held.files.partition("*")
    found = [
        entry
        for entry in entries(held.benchmark, role="recording")
        if start in entry.path and entry.path.endswith(end)
    ]
    if name.startswith("closer_look/"):  # other prompts of theirs have longer names that end alike
        found = [entry for entry in found if entry.path[len(start) : -len(end)] in _ASPECTS]
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
    texts = zip(*(items[field].tolist() for field in fields))
    return {
        item_id: dict(zip(fields, shown))
        for item_id, shown in zip(items["item_id"].tolist(), texts)
    }


def available(*names, load=None):
    """Whether recordings, or prompts of upstream's, can be had and read, downloading what is missing.

    A file that is here and cannot be read is named in a printed line.

    Parameters
    ----------
    *names : str
        Of `RECORDINGS`, or as ``upstream:geval/*_detailed`` for `nlgjudge.data.registry.prompt_files`.
    load : callable, optional
        In the place of `nlgjudge.data.benchmarks.load`, for who remembers what was loaded.

    Examples
    --------
    None are lacking where none are asked for.

    >>> available()
    True
    """
    load = cache(load or benchmarks.load)  # several recordings are laid beside the same ratings
    for name in names:
        try:
            if name.startswith("upstream:"):
                for entry in prompt_files(name):
                    fetch.read(entry)
            else:
                for _ in _rows(name, _NO_ITEMS, {}, lambda line: None, load):
                    pass
        except fetch.DataUnavailable:
            return False
        except _NoJudge:
            if name != "alttest":  # alone it stands for the file that holds all the judges
                raise
        except ValueError as error:
            print(f"left out: {error}")
            return False
    return True


def if_available(name, items=None, *, load=None):
    """Recorded replies where they can be had and read, without reading them twice.

    Parameters
    ----------
    name, items, load
        As for `recording`.

    Returns
    -------
    pandas.DataFrame or None
        None where `available` is false; it prints the same line.
    """
    try:
        return recording(name, items, load=load)
    except fetch.DataUnavailable:
        return None
    except ValueError as error:
        print(f"left out: {error}")
        return None


class _NoJudge(KeyError):
    """A recording of several judges has none of this name."""


def _rows(name, items, files, say, load=None):
    """Yield the rows of every file of a recording; `say` takes a line for those that are left out."""
    family, _, model = name.partition("/")
    if family in (
        "uncertainty",
        "uncertainty_prompts",
    ):  # which name no items, but repeat people's ratings
        items = (load or benchmarks.load)("summeval", "real").human()
    for entry in recorded_files(name):
        content = fetch.read(entry)
        files[entry.path] = entry.blob
        try:
            rows = _READERS[family](entry, content, items, model, say)
        except _NoJudge:
            raise
        except ODD as error:
            raise ValueError(
                f"{entry.path} of {entry.repository} is laid out otherwise than expected "
                f"({type(error).__name__}: {error}); {name} cannot be read"
            ) from error
        yield rows


def _closer_look(entry, content, items, _, say):
    shown = zip(*(items[field].tolist() for field in ("source", "context", "system_id")))
    keys = dict(zip(shown, items["item_id"].tolist()))
    aspect = _ASPECTS[entry.path.split("gpt3.5_")[1].split("_")[0]]
    rows = []
    needed = ("source", "context", "system_id", "all_responses")
    for row in _complete(entry, _decoded(content), needed, say):
        key = keys.get((row["source"], row["context"], row["system_id"]))
        if key:
            rows += _samples(key, aspect, row["all_responses"])
    return rows


def _llm_summeval(entry, content, items, _, say):
    folder, file = entry.path.split("/")[-2:]
    system_id = folder.split("_")[1]
    aspect = file.split("_")[0]
    lines = [json.loads(line) for line in content.decode("utf-8").splitlines()]
    return [
        (f"{line['id']}/{system_id}", aspect, 0, _text(line["resp"]))
        for line in _complete(entry, lines, ("id", "resp"), say)
    ]


def _alttest(entry, content, items, model, _):
    judges = _decoded(content)
    if model not in judges:
        raise _NoJudge(unknown("judge of AltTest", model, judges))
    rows = []
    for key, score in judges[model].items():
        doc_id, system_id, aspect = key.split("__")
        rows.append((f"{doc_id}/{system_id}", aspect, 0, str(score)))
    return rows


def _geval(entry, content, items, _, say):
    aspect = _ASPECTS[entry.path.split("/")[-1].split("_")[1]]
    rows = []
    for row in _complete(entry, _decoded(content), ("doc_id", "system_id", "all_responses"), say):
        rows += _samples(f"{row['doc_id']}/{row['system_id']}", aspect, row["all_responses"])
    return rows


def _uncertainty(entry, content, items, model, _):
    """A file whose sixth column, people's mean rating, shows the order of its rows."""
    aspect = entry.path.split("Summeval_")[1].removesuffix("_logits.csv")
    people = rating_logprobs.in_order(items, _LOGPROBS[model][1])
    logarithms, given = rating_logprobs.table(content, aspect)
    rating_logprobs.check_people(given, people[aspect].to_numpy())
    return rating_logprobs.replies(people["item_id"], aspect, logarithms, 0)


def _uncertainty_prompts(entry, content, items, model, say):
    """A file of five prompts, item by item; one whose order cannot be shown is left out, and `say` has a line."""
    aspect = entry.path.split("_")[-1].removesuffix(".csv")
    people = rating_logprobs.in_order(items, "sorted")
    rows = rating_logprobs.table(content)[0]
    if len(rows) != len(people) * rating_logprobs.PROMPTS:
        raise ValueError(
            f"expected {rating_logprobs.PROMPTS} rows for each of {len(people)} items, got {len(rows)}"
        )
    by_prompt = rows.reshape(len(people), rating_logprobs.PROMPTS, -1)
    try:
        rating_logprobs.check_prompts(by_prompt, people["doc_id"])
    except ValueError as error:
        say(f"{entry.path} of {entry.repository} is left out: {error}")
        return []
    return chain.from_iterable(
        rating_logprobs.replies(people["item_id"], aspect, by_prompt[:, prompt], prompt)
        for prompt in range(rating_logprobs.PROMPTS)
    )


@lru_cache(
    maxsize=16
)  # a recording is often looked at before it is read, and read again under another policy
def _decoded(content):
    """What a JSON file holds, which nobody changes."""
    return json.loads(content)


def _complete(entry, rows, keys, say):
    """Rows that have all the keys; how many have not is said. None at all is another layout."""
    kept = [row for row in rows if not set(keys) - set(row)]
    if rows and not kept:
        raise KeyError(f"no row has all of {', '.join(keys)}")
    if len(kept) < len(rows):
        share = f"{len(rows) - len(kept)} of {len(rows)} rows"
        say(
            f"{entry.path} of {entry.repository}: {share} lack one of {', '.join(keys)} and are left out"
        )
    return kept


def _samples(key, aspect, replies):
    """One row a reply; a lone text stands for a list of one."""
    if isinstance(replies, str):
        replies = [replies]
    elif not replies:
        replies = []
    return [(key, aspect, number, _text(reply)) for number, reply in enumerate(replies)]


def _text(reply):
    return "" if reply is None else str(reply)


_READERS = {
    "closer_look": _closer_look,
    "closer_look_summeval": _geval,
    "llm_summeval": _llm_summeval,
    "alttest": _alttest,
    "geval": _geval,
    "uncertainty": _uncertainty,
    "uncertainty_prompts": _uncertainty_prompts,
}
