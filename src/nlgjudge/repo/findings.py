"""What `resolve` found the last time, kept below `build/` while nothing has changed that decides on it.

To find out what can be had, every benchmark and recording is read, which takes as long as all else of a `make
reproduce` that has nothing to do. What decides is noted beside the findings: the files that were read, the
package, the installed packages, and the variables of the environment that name folders and files.
"""

import hashlib
import json
import os
import sys
import sysconfig
from pathlib import Path

from nlgjudge.data.paths import root, used

_VARIABLE = "NLGJUDGE_"  # how the names of those variables begin


def kept(asked_for):
    """What was found of the same needs when they were last read, where that still holds.

    Parameters
    ----------
    asked_for : dict
        What was to be read, as `keep` had it.

    Returns
    -------
    found : dict or None
        By need, source and digest; None where nothing is kept, or something has changed.
    lines : list of str
        What was said about them.
    """
    path = _path()
    if not path.exists():
        return None, []
    note = json.loads(path.read_text(encoding="utf-8"))
    if note["asked_for"] != asked_for or note["environment"] != _environment():
        return None, []
    changed = any(_state(file) != state for file, state in note["files"].items())
    if changed:
        return None, []
    return note["found"], note["lines"]


def keep(asked_for, found, lines):
    """Note what was found, and all that decided on it.

    Parameters
    ----------
    asked_for : dict
        What was to be read; in words that JSON can hold.
    found : dict
        By need, source and digest.
    lines : list of str
        What was said about them.
    """
    files = {str(file): _state(file) for file in [*used(), *_package()]}
    note = {
        "asked_for": asked_for,
        "environment": _environment(),
        "files": files,
        "found": found,
        "lines": lines,
    }
    path = _path()
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(note), encoding="utf-8")
    os.replace(temporary, path)  # whole or not at all


def _path():
    return root() / "build" / "findings.json"


def _environment():
    """Digest of what decides beside files: variables, the interpreter, and the packages with their versions."""
    variables = {name: value for name, value in os.environ.items() if name.startswith(_VARIABLE)}
    packages = sorted(
        folder.name for folder in Path(sysconfig.get_path("purelib")).glob("*.dist-info")
    )
    together = json.dumps([sorted(variables.items()), sys.version, packages])
    return hashlib.sha256(together.encode()).hexdigest()  # an address can hold a password


def _package():
    return Path(__file__).resolve().parents[1].rglob("*.py")


def _state(file):
    """When a file was last changed and how large it is; None where there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size]
