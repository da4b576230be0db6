"""Settings and keys in words, for titles and labels."""

NAMES = {
    "qags": "QAGS",
    "qags_cnn": "QAGS-CNN",
    "qags_xsum": "QAGS-XSum",
    "summeval": "SummEval",
    "newsroom": "NewsRoom",
    "realsumm": "RealSumm",
    "topical_chat": "Topical-Chat",
    "openmeva": "OpenMEVA-ROC",
    "bagel": "BAGEL",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "kendall": "Kendall",
    "within_ci": "within our interval",
}


def titled(key):
    """Write the key of a dataset, coefficient, aspect or verdict as a title or legend has it.

    Parameters
    ----------
    key : object

    Returns
    -------
    str

    Examples
    --------
    >>> titled("qags_cnn"), titled("spearman"), titled("pyramid_recall"), titled("ROUGE-1")
    ('QAGS-CNN', 'Spearman', 'pyramid recall', 'ROUGE-1')
    """
    return NAMES.get(key, str(key).replace("_", " "))


def in_words(value):
    """Write a setting's value as a reader would say it.

    Parameters
    ----------
    value : object
        A number or text as it is; a list with its parts one after the other; a dict as `differing` writes it;
        nothing for an empty one; a prompt, judge or function by its name.

    Returns
    -------
    str

    Examples
    --------
    >>> in_words(["typos", "", 5]), in_words({"temperature": 0, "top_p": 1}), in_words([])
    ('typos 5', 'temperature 0, top_p 1', 'none')
    """
    name = getattr(value, "name", getattr(value, "__name__", ""))
    if name:
        return str(name)
    if isinstance(value, dict) and value:
        return named(value)
    if isinstance(value, (list, tuple)) and len(value):
        return " ".join(in_words(part) for part in value if part != "")
    if value is None or (isinstance(value, (str, list, tuple, dict)) and not len(value)):
        return "none"
    return str(value)


def named(settings):
    """Write settings with their names, as ``samples 1, aggregation mode``.

    Parameters
    ----------
    settings : dict

    Returns
    -------
    str

    Examples
    --------
    >>> named({"samples": 1, "words": {"carefully": "with care"}})
    'samples 1, carefully: with care'
    """
    parts = []
    for name, value in settings.items():
        if name == "words" and value:
            parts += [f"{old}: {new}" for old, new in value.items()]
        elif isinstance(value, dict) and value:
            parts.append(named(value))
        else:
            parts.append(f"{name} {in_words(value)}")
    return ", ".join(parts)


def listed(names):
    """Write names as a sentence has them.

    Parameters
    ----------
    names : list of str
        One or more.

    Returns
    -------
    str

    Examples
    --------
    >>> listed(["fluency", "coherence", "style"])
    'fluency, coherence and style'
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
