"""Find an upstream file, verify it, and hand over its bytes.

Routes, in order: the cache, the mirror folder in `NLGJUDGE_MIRROR`, the code host. A file
is verified whatever its route, and written to the cache atomically: an error or a full
disk leaves nothing, a killed process at most a `.partial-` folder that nothing ever reads.
"""

import errno
import os
import tempfile
import time
from pathlib import Path

from nlgjudge.data.paths import cache, use
from nlgjudge.data.registry import blob_id

UPSTREAM = "https://raw.githubusercontent.com"
RETRIES = 3
TIMEOUT = (5, 30)  # seconds to connect, and between two pieces of the answer
_unreachable = {}


class DataUnavailable(Exception):
    """A registered file could not be had by any route."""


def read(entry, *, progress=False):
    """Return the verified content of a registered file.

    Parameters
    ----------
    entry : nlgjudge.data.registry.Entry
    progress : bool
        Show a progress bar while downloading.

    Returns
    -------
    bytes

    Raises
    ------
    DataUnavailable
        Naming the three routes and what each of them said.
    NotADirectoryError
        When `NLGJUDGE_MIRROR` names no folder.
    ValueError
        When the registry's path would leave the cache.
    """
    tried = []
    for route in (_from_cache, _from_mirror, _from_upstream):
        content, outcome = route(entry, progress)
        if content is not None:
            return content
        tried.append(outcome)
    raise DataUnavailable(
        f"{entry.path} of {entry.repository} ({entry.benchmark}) could not be had:\n"
        + "\n".join(f"  {number}. {text}" for number, text in enumerate(tried, 1))
        + "\nGive a network, or a mirror folder in NLGJUDGE_MIRROR, or copy the file to the cache.")


def local(entry):
    """Return where a registered file lies on this machine, unverified, or None."""
    mirror = os.environ.get("NLGJUDGE_MIRROR", "")
    for folder in (cache(), *([Path(mirror)] if mirror else [])):
        if (path := _inside(folder, entry.location)).is_file():
            return path
    return None


def _from_cache(entry, _):
    return _from_folder("cache", cache(), entry)


def _from_mirror(entry, _):
    folder = os.environ.get("NLGJUDGE_MIRROR", "")
    if not folder:
        return None, "mirror: NLGJUDGE_MIRROR is not set"
    if not Path(folder).is_dir():
        raise NotADirectoryError(f"NLGJUDGE_MIRROR={folder} is not a folder; name one laid out "
                                 "owner/repository/commit/path, or set it to nothing to do without")
    return _from_folder("mirror", Path(folder), entry)


def _from_folder(name, folder, entry):
    path = _inside(folder, entry.location)
    if not path.is_file():
        return None, f"{name}: no {path}"
    content = path.read_bytes()
    problem = check(entry, content)
    if not problem:
        use(path)
        return content, ""
    if name == "cache":  # a mirror is not ours to mend
        path.unlink(missing_ok=True)
        return None, f"cache: removed {path}, {problem}"
    return None, f"mirror: {path} {problem}"


def _from_upstream(entry, progress):
    base = os.environ.get("NLGJUDGE_UPSTREAM", UPSTREAM)
    url = f"{base}/{entry.location}"
    if os.environ.get("NLGJUDGE_OFFLINE"):
        return None, f"network: {url} not tried, NLGJUDGE_OFFLINE is set"
    if base in _unreachable:
        return None, f"network: {base} did not answer earlier ({_unreachable[base]})"
    target = _inside(cache(), entry.location)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".partial-") as folder:
            temporary = Path(folder, target.name)
            if problem := _download(base, url, temporary, progress):
                return None, f"network: {problem}"
            content = temporary.read_bytes()
            if problem := check(entry, content):
                return None, f"network: {url} {problem}"
            os.replace(temporary, target)
    except OSError as error:
        raise _write_error(error, target, entry) from error
    use(target)
    return content, ""


def check(entry, content):
    """Compare content with the registry.

    Returns
    -------
    str
        What is wrong with it, empty when it is the registered file.
    """
    found = blob_id(content)
    if found == entry.blob:
        return ""
    if content.lstrip()[:1] == b"<":
        kind = "is an HTML or XML page, not the file"
    elif entry.bytes and len(content) < entry.bytes:
        kind = f"is truncated: expected {entry.bytes:,} bytes, got {len(content):,}"
    else:
        kind = f"has other content ({len(content):,} bytes)"
    return f"{kind}; expected git blob {entry.blob}, got {found}"


def _inside(folder, location):
    path = folder / location
    if not path.resolve().is_relative_to(folder.resolve()) or ".." in location.parts:
        raise ValueError(f"the registry's path {location} would leave {folder}; "
                         "correct that row of data/registry.csv")
    return path


def _download(base, url, path, progress):
    # Imported here: notebooks that find their data locally need neither.
    import pooch
    import requests

    download = pooch.HTTPDownloader(progressbar=progress, timeout=TIMEOUT)
    for attempt in range(RETRIES):
        try:
            download(url, str(path), None)
            return ""
        except requests.HTTPError as error:
            status = error.response.status_code
            problem = f"{url} answered {status}"
            if status < 500 and status != 429:
                return problem
        except requests.ConnectionError as error:
            problem = f"{base} cannot be reached ({type(error).__name__})"
            if attempt + 1 == RETRIES:
                _unreachable[base] = type(error).__name__
            continue
        except requests.RequestException as error:
            problem = f"{url} failed ({type(error).__name__})"
        if attempt + 1 < RETRIES:
            time.sleep(2**attempt)
    return f"{problem}, {RETRIES} times"


def _write_error(error, target, entry):
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return OSError(error.errno, f"no space left to store {entry.path} "
                       f"({entry.bytes or 'unknown number of'} bytes) in {target.parent}; "
                       "free some space or move data/cache; nothing partial was kept")
    return error
