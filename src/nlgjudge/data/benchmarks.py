"""One door to every benchmark: `load`."""

from importlib import import_module

from nlgjudge.data import fetch, sample
from nlgjudge.data.choices import unknown

# A reader's module is imported when it is needed, so that a notebook depends on it alone.
READERS = {
    "summeval": "others:read_with_unieval", "summeval_crowd": "others:read_summeval_crowd",
    "newsroom": "bartscore:read", "realsumm": "bartscore:read",
    "qags_cnn": "others:read_with_unieval", "qags_xsum": "others:read_with_unieval",
    "bagel": "bartscore:read", "openmeva": "others:read_openmeva",
    "topical_chat": "others:read_topical_chat", "news": "others:read_news",
    "wmt22_de_en": "perturbable:read_wmt22", "wmt22_zh_en": "perturbable:read_wmt22",
    "sumpubmed": "perturbable:read_sumpubmed",
    "answer_equivalence": "perturbable:read_answer_equivalence",
    "story_cloze": "perturbable:read_story_cloze", "iwslt14": "perturbable:read_iwslt14",
}

SOURCES = ("auto", "real", "sample")


def load(name, source="auto"):
    """Load a benchmark in the tidy schema.

    Parameters
    ----------
    name : str
        One of `READERS`.
    source : {"auto", "real", "sample"}
        Real data by whatever route has them, the repository's sample, or, by default, the
        sample where no route works.

    Returns
    -------
    nlgjudge.data.schema.Benchmark
        Its `notice` is empty for real data and must stand on everything made from a sample.

    Raises
    ------
    ValueError
        For an unknown name or source.
    nlgjudge.data.fetch.DataUnavailable
        With `source="real"`, naming the routes that were tried.
    """
    if name not in READERS:
        raise ValueError(unknown("benchmark", name, READERS, most=len(READERS)))
    if source not in SOURCES:
        raise ValueError(unknown("source", source, SOURCES))
    if source == "sample":
        return sample.read(name)
    module, function = READERS[name].split(":")
    try:
        return getattr(import_module(f"nlgjudge.data.{module}"), function)(name)
    except fetch.DataUnavailable:
        if source == "real":
            raise
        return sample.read(name)
