"""Prompts that a paper prints in parts: a `parts.toml` in the paper's `prompts/` says which make up which.

Its `forms` list the parts of each way of asking, in order. The words of a part are looked up with the aspect first,
then with the task, then with the paper. A prompt's name is ``PAPER/FORM/TASK/ASPECT``.
"""

import tomllib
from functools import cache

# Tables of the file that are no task.
_GENERAL = ("forms", "slots", "parts")


@cache
def read(folder):
    """A paper's parts; empty where its prompts are whole. Nobody changes what is returned.

    Parameters
    ----------
    folder : pathlib.Path
        The paper's `prompts/`.

    Returns
    -------
    dict
    """
    path = folder / "parts.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def names(folder):
    """Names of the prompts that the parts make, without the paper's.

    Parameters
    ----------
    folder : pathlib.Path

    Returns
    -------
    list of str
        As ``FORM/TASK/ASPECT``.
    """
    found = read(folder)
    tasks = {
        name: words
        for name, words in found.items()
        if isinstance(words, dict) and name not in _GENERAL
    }
    return [
        f"{form}/{task}/{aspect}"
        for form in found.get("forms", {})
        for task, words in tasks.items()
        for aspect in words["aspects"]
    ]


def composed(folder, name):
    """One prompt, put together.

    Parameters
    ----------
    folder : pathlib.Path
    name : str
        One of `names`.

    Returns
    -------
    dict
        Fields of `nlgjudge.judging.prompts.Prompt`, without `name`.
    """
    found = read(folder)
    form, task, aspect = name.split("/")
    asked = found[task]["aspects"][aspect]
    words = found["parts"] | found[task]["parts"] | asked
    body = "\n\n".join(words[part].removeprefix("\n") for part in found["forms"][form])
    body = body.replace("[Attribute]", aspect.capitalize())
    return {
        "paper": found["paper"],
        "source": found["source"],
        "exact": found["exact"],
        "aspect": aspect,
        "scale": tuple(asked["scale"]),
        "form": found["form"],
        "slots": {token: field for token, field in found["slots"].items() if token in body},
        "body": body,
        "constants": {},
        "task": task,
    }
