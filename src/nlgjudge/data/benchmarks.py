"""One door to every benchmark: `load`; and `files`, what it needs."""

from dataclasses import replace
from importlib import import_module

from nlgjudge.data import fetch, sample
from nlgjudge.data.checks import check_known
from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.data.registry import entries

# A reader's module is imported when it is needed, so that a notebook depends on it alone.
READERS = {
    "summeval": "others:read_with_unieval",
    "summeval_crowd": "others:read_summeval_crowd",
    "summeval_crowd_all": "others:read_summeval_crowd_all",
    "newsroom": "bartscore:read",
    "realsumm": "bartscore:read",
    "qags_cnn": "others:read_with_unieval",
    "qags_xsum": "others:read_with_unieval",
    "bagel": "bartscore:read",
    "openmeva": "others:read_openmeva",
    "topical_chat": "others:read_topical_chat",
    "topical_chat_raters": "others:read_topical_chat_raters",
    "news": "others:read_news",
    "wmt22_de_en": "perturbable:read_wmt22",
    "wmt22_zh_en": "perturbable:read_wmt22",
    "sumpubmed": "perturbable:read_sumpubmed",
    "answer_equivalence": "perturbable:read_answer_equivalence",
    "story_cloze": "perturbable:read_story_cloze",
    "iwslt14": "perturbable:read_iwslt14",
}

SOURCES = ("auto", "real", "sample")


def load(name, source="auto"):
    """Load a benchmark in the tidy schema.

    Parameters
    ----------
    name : str
        One of these:

        - ``summeval``: summaries of news, rated by three experts for four aspects
        - ``summeval_crowd``: the same, rated by five crowd workers, for 12 of its 16 systems
        - ``summeval_crowd_all``: the same, rated by five crowd workers, for all systems
        - ``newsroom``: summaries of news, mean ratings for four aspects
        - ``realsumm``: summaries of news, pyramid recall
        - ``qags_cnn``: summaries of CNN news, rated for factual consistency
        - ``qags_xsum``: summaries of BBC news (XSum), rated for factual consistency
        - ``bagel``: sentences made from data, mean ratings for three aspects
        - ``openmeva``: endings of stories (OpenMEVA-ROC), mean overall ratings
        - ``topical_chat``: dialogue responses, mean ratings for six aspects (USR)
        - ``topical_chat_raters``: the same, with each of three raters
        - ``news``: summaries by writers and by models, preferences between two
        - ``wmt22_de_en``: translations from German, not rated; DHP perturbs them
        - ``wmt22_zh_en``: translations from Chinese, not rated; DHP perturbs them
        - ``sumpubmed``: abstracts of articles, not rated; DHP perturbs them
        - ``answer_equivalence``: answers to questions, judged equivalent to a reference or not
        - ``story_cloze``: a right and a wrong ending of stories; name your copy, see `data/README.md`
        - ``iwslt14``: rated translations (HumanMT); name your copy, see `data/README.md`
    source : {"auto", "real", "sample"}
        Real data, the repository's sample, or by default real data and, if they are unavailable
        offline, the sample.

    Returns
    -------
    nlgjudge.data.schema.Benchmark
        Its `notice` is empty for real data and must be shown with everything made from a sample.

    Raises
    ------
    ValueError
        For an unknown name or source.
    nlgjudge.data.fetch.DataUnavailable
        With `source="real"`, naming the routes that were tried; by default, where a code host
        answered and still did not give the file (too many requests, a server's error). Where it
        says that it has no such file, the sample is returned and a line is printed.

    Examples
    --------
    >>> load("openmeva", "sample")
    openmeva
      data       sample data, not comparable with the papers
      documents  12
      systems    4
      items      48
      aspects    overall (1 to 5)
      licence    CC0-1.0, written for this repository
    >>> load("summeval", "sample").aspects
    ['coherence', 'consistency', 'fluency', 'relevance']
    """
    check_known("benchmark", name, READERS, most=len(READERS))
    check_known("source", source, SOURCES)
    if source == "sample":
        return sample.read(name)
    missing = [entry for entry in files(name) if fetch.local(entry) is None]
    if len(missing) > fetch.WORKERS:  # the reader asks for one after the other
        fetch.read_all(missing, label=name)
    module, function = READERS[name].split(":")
    reader = getattr(import_module(f"nlgjudge.data.{module}"), function)
    try:
        return reader(name)
    except fetch.DataUnavailable as error:
        if source == "real":
            raise
        if error.kind == "failed":  # it can be had, only not now: nobody asked for the sample
            raise fetch.DataUnavailable(
                f"{error}\nThe code host answered, so the sample does not stand in: run it again later, or "
                "ask for it with source='sample'.",
                kind=error.kind,
                cause=error.cause,
            ) from error
        found = sample.read(name)
        if error.kind == "offline":
            return found
        print(f"{name} is the sample: {error.cause}")
        return replace(found, left_out={name: error.cause})


def load_together(names, source="auto"):
    """Load several benchmarks, all of them real or all from the sample.

    Parameters
    ----------
    names : iterable of str
        Of `READERS`.
    source : {"auto", "real", "sample"}
        By default the sample replaces all if one of them is unavailable; a printed line
        then names the one.

    Returns
    -------
    dict of str to nlgjudge.data.schema.Benchmark
        By name, in the given order.

    Raises
    ------
    ValueError, nlgjudge.data.fetch.DataUnavailable
        As `load`.

    Examples
    --------
    >>> [found.source for found in load_together(["summeval", "topical_chat"], "sample").values()]
    ['sample', 'sample']
    """
    found = {name: load(name, source) for name in names}
    lacking = [name for name, benchmark in found.items() if benchmark.is_sample]
    if not lacking or len(lacking) == len(found):
        return found
    print(
        f"{', '.join(lacking)} is unavailable here, so all of {', '.join(found)} are {SAMPLE_NOTICE}"
    )
    return {name: load(name, "sample") for name in found}


# Benchmark, and further paths, of what is not read from its own rows of the roles data and scores alone.
_EXPERTS = "data/summeval/human_annotations.json"
_FILES = {
    "summeval": ("summeval", _EXPERTS),
    "summeval_crowd_all": ("summeval", _EXPERTS, "fabbri2020/relevance.jsonl"),
    "topical_chat_raters": ("topical_chat", "usr_topical_chat.json"),
}


def files(name):
    """Registered files that a benchmark is read from, the optional ones too.

    Parameters
    ----------
    name : str
        One of `READERS`.

    Returns
    -------
    list of nlgjudge.data.registry.Entry
        Those of another role than `data` are optional, but for the benchmarks of single raters.

    Examples
    --------
    >>> [entry.path for entry in files("openmeva")]
    ['data/openmeva.json']
    """
    if name in ("story_cloze", "iwslt14"):  # the user's own
        return []
    if name == "summeval_crowd":
        return entries("summeval", path="_outputs_annotations.jsonl")
    if name == "answer_equivalence":
        return entries(name, path="ae_dev.jsonl")
    benchmark, *paths = _FILES.get(name, (name,))
    found = [entry for entry in entries(benchmark) if entry.role in ("data", "scores")]
    return found + [entry for path in paths for entry in entries(benchmark, path=path)]
