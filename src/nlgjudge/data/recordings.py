"""Recorded replies of judges, as others published them, joined to the benchmarks by key.

gpt-3.5-turbo-0613 on Topical-Chat and SummEval (Chiang and Lee 2023: 20 samples),
gpt-3.5-turbo-0301 and gpt-4-0314 on twelve of SummEval's systems (Shen et al. 2023), six
judges of 2024 on all of SummEval (Calderon et al. 2025, scores alone), G-Eval's GPT-4, and token
probabilities of four models on all of SummEval (Sheng et al. 2025).
"""

from typing import NamedTuple

import pandas as pd

from nlgjudge.data import benchmarks, fetch
from nlgjudge.data.checks import unknown
from nlgjudge.data.optional import MALFORMED
from nlgjudge.data.recording_readers import ASPECTS, PROMPTS, READERS
from nlgjudge.data.registry import entries, prompt_files

COLUMNS = ["item_id", "aspect", "sample_index", "text"]
_NO_ITEMS = pd.DataFrame(columns=["item_id", "source", "context", "system_id"])


class Recorded(NamedTuple):
    """What a recording is a recording of.

    Attributes
    ----------
    benchmark : str
        Whose texts were judged.
    files : str
        How the paths of the registered files end, with a star for the part that differs.
    model : str or None
        As its publishers call it.
    prompt : str or None
        Name of the prompt, with ``{aspect}``; None if its text is not registered.
    sampling : dict
        Sampling parameters that its publishers state; any other is unknown.
    samples : int or None
        Replies per item and aspect.
    scales : dict of str to tuple
        Lowest and highest rating asked for, by aspect.
    note : str
        What is unknown, and why.
    form, pattern : str
        How its replies are read, as a `nlgjudge.judging.reading.Reading` has them.
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


_SUMMARIES = dict.fromkeys(("coherence", "consistency", "fluency", "relevance"), (1, 5))
_DIALOGUE = dict.fromkeys(("naturalness", "coherence", "engagingness"), (1, 3))
# Chiang and Lee 2023, section 2.3: "we use ChatGPT (gpt3.5-turbo-0613)"; appendix C: "For each attribute of
# each sample, the rating of ChatGPT is obtained by 20 samples; we set the decoding temperature to 1 and the
# top-p in nucleus sampling to 1, following G-Eval". The prompts in its files are the registered files
# with the items' texts in their slots (tests/data/test_recordings.py).
_CLOSER = Recorded(model="gpt-3.5-turbo-0613", sampling={"temperature": 1, "top_p": 1}, samples=20)
# Ratings that the default does not read. Shen et al.: "4 stars", "a score of 4", "it gets a 4 out of 5", or a last
# number; unless "Score: 4" follows.
_SENTENCE = (
    r"(?:\b(?:scor|rat|earn|gets|giv|receiv|deserv|making)\w* "
    r"(?:(?:it|this|the|summary|is|of|as|an?|with|only|at|score|rating) )*"
    r"|\A(?=\w+ stars?\b)|\b(?=[\d.]+ stars?\b)|[.;!?]\"? (?=[\d.]+(?:/5| out of 5)?\.?\Z)"
    r"|\((?=\d(?:/5)?\)\.\Z))"
    r"(?P<rating>\d(?:\.\d)?|one|two|three|four|five)(?![\d-]|\.\d| (?:to|or) )"
    r"(?:(?: | stars? | points? )?(?:/|out of )(?P<top>\w+))?(?![\s\S]*\bscore: \d)"
)
# Shen et al. 2023; "from one to five" according to the repository's prompt_templates.py.
_SHEN = Recorded(
    benchmark="summeval",
    samples=1,
    scales=_SUMMARIES,
    pattern=_SENTENCE,
    note="its prompts and sampling parameters are not registered here",
)
# Sheng et al. 2025 (arXiv 2509.18658). gpt-4o-mini's file of one prompt is, row by row, the third prompt of its file of
# five; which of the five released texts that is, and what the others were asked, is not known. The released texts
# ask for 1 to 5 in fluency too, where G-Eval asks for 1 to 3 (tests/data/test_logprobs.py).
_SHENG = Recorded(benchmark="summeval", sampling={"logprobs": True}, samples=1, scales=_SUMMARIES)
_NO_PROMPT = "which prompt was asked, and at which sampling parameters, is not registered here"
RECORDINGS = {}
# Forms of Topical-Chat's replies and of the prompts that asked for them. Upstream's names differ for free text, where
# the form has no evaluation form at its end.
_FORMS = ("geval", "geval_no_auto_cot", "rate_explain", "analyze_rate")
_FORMS += ("rate_explain_auto_cot", "analyze_rate_auto_cot", "llm_eval_no_cot")
for _form in _FORMS:
    RECORDINGS[f"closer_look/{_form}"] = _CLOSER._replace(
        benchmark="topical_chat",
        files=f"results/topical_chat/gpt3.5_*_{_form}.json",
        prompt="upstream:d223302/{aspect:.3}_"
        + _form.replace("llm_eval_no_cot", "free_text_no_auto_cot"),
        scales=_DIALOGUE | {"groundedness": (0, 1)},
        note="the longest reply allowed is not stated",
    )
# Twenty replies in results/summeval, five at other temperatures and with a persona in folders of their own. Of
# fluency there are two prompts, and the second (flu_new) is the one that was asked in every form.
for _form in (
    "geval",
    "geval_no_auto_cot",
    "free_text_no_auto_cot",
    "rate_explain",
    "analyze_rate",
):
    RECORDINGS[f"closer_look_summeval/{_form}"] = _CLOSER._replace(
        benchmark="summeval",
        files=f"results/summeval/gpt3.5_*_{_form}.json",
        scales=_SUMMARIES,
        note="the prompts on summaries are not registered here",
    )
for _form in ("geval_no_auto_cot", "rate_explain", "analyze_rate"):
    _few = RECORDINGS[f"closer_look_summeval/{_form}"]._replace(samples=5)
    for _temperature in (0.3, 0.7):
        RECORDINGS[f"closer_look_summeval/{_form}_{_temperature}"] = _few._replace(
            files=f"results/summeval/temperature/gpt3.5_*_{_form}_{_temperature}.json",
            sampling={"temperature": _temperature, "top_p": 1},
        )
    for _persona in ("human", "hhh"):
        RECORDINGS[f"closer_look_summeval/{_form}_{_persona}"] = _few._replace(
            files=f"results/summeval/prompt/gpt3.5_*_{_form}_1.0_{_persona}_prompt.json"
        )
RECORDINGS |= {
    # Calderon et al. 2025 publish scores alone; an unparsed reply was stored as 3.
    "alttest": Recorded(
        benchmark="summeval",
        files="data/summeval/llm_annotations.json",
        samples=1,
        scales=_SUMMARIES,
        note="scores alone are published, without prompt and sampling parameters",
    ),
    # G-Eval, section 3.1: "we set 'n = 20, temperature = 1, top_p = 1' to sample 20 times". The script that
    # the authors released (gpt4_eval.py) sets a temperature of 2 and at most 5 tokens: neither is certain.
    "geval/gpt-4": Recorded(
        benchmark="summeval",
        files="results/gpt4_*_detailed.json",
        model="gpt-4",
        prompt="upstream:geval/{aspect:.3}_detailed",
        sampling={"top_p": 1},
        samples=20,
        scales=_SUMMARIES | {"fluency": (1, 3)},
        note="the paper states a temperature of 1, the released script has 2",
    ),
}
for _model in ("gemini_flash", "gemini_pro", "gpt-4o", "gpt-4o-mini", "llama-31", "mistral-v03"):
    RECORDINGS[f"alttest/{_model}"] = RECORDINGS["alttest"]._replace(model=_model)
for _name, _model, _form in (
    ("gpt-3.5/stars", "gpt-3.5-turbo-0301", "stareval"),
    ("gpt-3.5/reason_then_score", "gpt-3.5-turbo-0301", "rts"),
    ("gpt-4/reason_then_score", "gpt-4-0314", "rts"),
):
    RECORDINGS[f"llm_summeval/{_name}"] = _SHEN._replace(
        files=f"{_model}/*_{_form}.txt", model=_model
    )
for _name, _model, _folder in (
    ("gpt-4o-mini", "gpt-4o-mini", "4omini"),
    ("qwen2.5-72b", "Qwen2.5-72B-Instruct", "qwen"),
    ("deepseek-r1-32b", "DeepSeek-R1-Distill-Qwen-32B", "dsr1"),
):
    RECORDINGS[f"uncertainty/{_name}"] = _SHENG._replace(
        files=f"model_logits/{_folder}/Summeval_*_logits.csv",
        model=_model,
        note=f"log-probabilities of the ratings, whose likeliest is the text; {_NO_PROMPT}",
    )
for _model, _folder in (("gpt-4o-mini", "4omini"), ("gpt-4o", "4o")):
    RECORDINGS[f"uncertainty_prompts/{_model}"] = _SHENG._replace(
        files=f"prompt_sensitivity/logits/{_folder}_*.csv",
        model=_model,
        samples=PROMPTS,
        note=f"log-probabilities under five prompts of one meaning, which the samples number; {_NO_PROMPT}",
    )


def recording(name, items=None, *, files=None):
    """Read recorded replies.

    Parameters
    ----------
    name : str
        One of `RECORDINGS`, but for ``alttest``, which is the file of all its judges.
    items : pandas.DataFrame, optional
        The benchmark's items; replies to others are left out. Needed where a recording
        names texts instead of keys (Topical-Chat).
    files : dict, optional
        Filled with the files read and their blob ids.

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
        If the items are needed and not given, or a file has an unexpected layout.
    nlgjudge.data.fetch.DataUnavailable
        If a file is unavailable.

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
    rows, notes = _read(name, items, {} if files is None else files)
    print(*notes, sep="\n", end="\n" if notes else "")
    columns = [*COLUMNS, "logprobs"] if name.startswith("uncertainty") else COLUMNS
    frame = pd.DataFrame(rows, columns=columns)
    kept = frame.drop_duplicates(COLUMNS[:3])
    if len(kept) < len(frame):
        print(f"{name}: {len(frame) - len(kept)} of {len(frame)} replies are repeated and left out")
    if items is not None:
        kept = kept[kept["item_id"].isin(items["item_id"])]
    return kept.reset_index(drop=True)


def _read(name, items, files):
    """Rows of all files of a recording, and notes about rows and files that are left out."""
    family, _, model = name.partition("/")
    if family.startswith("uncertainty"):  # its files repeat human ratings instead of keys
        items = benchmarks.load("summeval", "real").human()
    rows = []
    notes = []
    for entry in recorded_files(name):
        content = fetch.read(entry)
        files[entry.path] = entry.blob
        try:
            rows += READERS[family](entry, content, items, model, notes)
        except MALFORMED as error:
            raise ValueError(
                f"{entry.path} of {entry.repository} is laid out otherwise than expected "
                f"({type(error).__name__}: {error}); {name} cannot be read"
            ) from error
    return rows, notes


def available(*names):
    """Whether recordings, or upstream prompts, are available and readable; downloads missing files.

    A file with an unexpected layout is named in a printed line.

    Parameters
    ----------
    *names : str
        Of `RECORDINGS`, or as ``upstream:geval/*_detailed`` for `nlgjudge.data.registry.prompt_files`.

    Examples
    --------
    >>> available()
    True
    """
    try:
        for name in names:
            if name.startswith("upstream:"):
                for entry in prompt_files(name):
                    fetch.read(entry)
            else:
                _read(name, _NO_ITEMS, {})
    except fetch.DataUnavailable:
        return False
    except ValueError as error:
        print(f"left out: {error}")
        return False
    return True


def recorded(name):
    """Return what a recording holds.

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
    if name not in RECORDINGS:
        raise KeyError(unknown("recording", name, RECORDINGS, most=len(RECORDINGS)))
    return RECORDINGS[name]


def recorded_files(name):
    """Return the registered files of a recording; KeyError for an unknown name.

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
    if name.startswith("closer_look"):  # files of other prompts have longer names that end alike
        stems = [*ASPECTS, "flu_new"]
        if "summeval" in name:
            stems.remove("flu")
        found = [entry for entry in found if entry.path[len(start) : -len(end)] in stems]
    return found


def recorded_texts(name):
    """Return `source, hypothesis, context` by item of the texts that were judged.

    Empty if the benchmark is unavailable.
    """
    try:
        items = benchmarks.load(recorded(name).benchmark, "real").items
    except fetch.DataUnavailable:
        return {}
    texts = items.set_index("item_id")[["source", "hypothesis", "context"]]
    return texts.to_dict("index")
