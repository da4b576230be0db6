"""Citation keys of what a result rests on: papers, benchmarks, upstream files and judges.

The entries behind the keys stand in `data/citations.bib`. Modules that a result does not need itself are imported in
the functions: a notebook depends on what it imported, and its signature should not make it depend on more.
"""

import re

from nlgjudge.data.citations import cited_for
from nlgjudge.data.paths import used
from nlgjudge.data.registry import among

_ASKED_LIVE = re.compile(r"^(?:openai|batch):(.+)$")
_REPLAYED = re.compile(r"^replay:.+\.sqlite:([^@]+)(?:@.*)?$")


def keys(*, papers=(), benchmarks=(), files=(), models=()):
    """Citation keys of papers, benchmarks, upstream files and judges.

    Parameters
    ----------
    papers, benchmarks : iterable of str
        Keys of papers, as ``geval_v1``, and names of benchmarks.
    files : iterable of nlgjudge.data.registry.Entry
        Of each its publication is cited, as the registry has it.
    models : iterable of str
        As their publishers call them; a model without an entry has no key.

    Returns
    -------
    list of str
        Papers first, then benchmarks, publications of files, models; each once.

    Examples
    --------
    >>> from nlgjudge.data.registry import entries
    >>> keys(papers=["chatgpt"], benchmarks=["openmeva"], files=entries("openmeva"), models=["gpt-4-0314"])
    ['wang2023chatgpt', 'guan2021openmeva', 'openai2023gpt4']
    """
    found = []
    for what, names in (("paper", papers), ("benchmark", benchmarks)):
        for name in names:
            found += cited_for(what, name)
    found += [entry.citation for entry in files]
    for model in models:
        found += cited_for("judge", model)
    return list(dict.fromkeys(found))


def recorded_models(recording):
    """Models whose replies a recording holds.

    Parameters
    ----------
    recording : str
        As `nlgjudge.recording` takes it.

    Returns
    -------
    list of str

    Examples
    --------
    >>> recorded_models("llm_summeval/gpt-4/reason_then_score"), recorded_models("alttest")[:2]
    (['gpt-4-0314'], ['gpt-4o', 'gpt-4o-mini'])
    """
    from nlgjudge.data.recordings import RECORDINGS
    from nlgjudge.papers.recorded_rows import RECORDED_ROWS

    if recording in RECORDINGS and RECORDINGS[recording].model:
        return [RECORDINGS[recording].model]
    # A file of several judges names none; the rows beside which they stand do.
    rows = [row for row in RECORDED_ROWS if f"{row.recording}/".startswith(f"{recording}/")]
    return list(dict.fromkeys(row.judge for row in rows))


def named_models(settings):
    """Models that settings name as judges, asked live or replayed from a store.

    Parameters
    ----------
    settings : object
        Strings as ``openai:MODEL``, in lists and dictionaries of any depth.

    Returns
    -------
    list of str

    Examples
    --------
    >>> named_models({"judge": "openai:gpt-4o", "baseline": {"judge": "replay:all.sqlite:qwen2.5-7b@local"}})
    ['gpt-4o', 'qwen2.5-7b']
    """
    found = []
    for text in _texts(settings):
        named = _ASKED_LIVE.match(text) or _REPLAYED.match(text)
        if named:
            found.append(named[1])
    return list(dict.fromkeys(found))


def named_papers(settings):
    """Papers of which settings name a prompt, as ``geval/dialogue/coherence``.

    Parameters
    ----------
    settings : object
        As for `named_models`.

    Returns
    -------
    list of str

    Examples
    --------
    >>> named_papers({"prompts": {"geval/dialogue/coherence": "1272739ccfc2"}})
    ['geval']
    """
    from nlgjudge.ledger.printed import PAPERS

    owners = {text.partition("/")[0] for text in _texts(settings) if "/" in text}
    return [paper for paper in PAPERS if paper in owners]


def _texts(value):
    """All strings in lists and dictionaries, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(key)
            yield from _texts(inner)
    elif isinstance(value, (list, tuple, set)):
        for inner in value:
            yield from _texts(inner)


def cited(benchmarks, settings):
    """Citation keys of what this process read, for a result's signature.

    Parameters
    ----------
    benchmarks : iterable of nlgjudge.data.schema.Benchmark
        The sample is this repository's own and has no key.
    settings : dict
        What the result depends on; papers' prompts and live judges in it count.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> "openai2024gpt4o" in cited([load("summeval", "sample")], {"judge": "openai:gpt-4o"})
    True
    """
    from nlgjudge.ledger.printed import PAPERS, asked_papers

    # A file that could not be had is noted too, because a run depends on its coming.
    files = among(path for path in used() if path.is_file())
    papers = {*asked_papers(), *named_papers(settings)}
    return keys(
        papers=[paper for paper in PAPERS if paper in papers],
        benchmarks=[one.name for one in benchmarks if one.source == "real"],
        files=files,
        models=[*_models_of(files), *named_models(settings)],
    )


def _models_of(files):
    """Models whose recorded replies are among files."""
    if not any(entry.role == "recording" for entry in files):
        return []
    from nlgjudge.data.recordings import RECORDINGS, recorded_files

    read = [name for name in RECORDINGS if set(recorded_files(name)) & set(files)]
    return [model for name in read for model in recorded_models(name)]
