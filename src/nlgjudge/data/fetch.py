"""Find an upstream file, verify it, and hand over its bytes.

Routes, in order: the cache, the mirror folder in `NLGJUDGE_MIRROR`, the code host. A file
is verified whatever its route, and written to the cache atomically: an error or a full
disk leaves nothing, a killed process at most a `.partial-` folder that nothing ever reads.
A code host that says "too many requests" is waited for, as long as it asks, up to a bound.
"""

import errno
import os
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import NamedTuple

from nlgjudge.data.paths import cache, mirror, use
from nlgjudge.data.registry import blob_id

UPSTREAM = "https://raw.githubusercontent.com"
RETRIES = 3
TIMEOUT = (5, 30)  # seconds to connect, and between two pieces of the answer
WORKERS = 8  # files that are downloaded side by side
LONGEST_WAIT = (
    120  # seconds that a code host is waited for, altogether, when it says "too many requests"
)
MOST_REFUSALS = 20  # so often one file is asked for when each answer is "too many requests"
FORGET_AFTER = 60  # seconds after which a host that could not be reached is tried again


class DataUnavailable(Exception):
    """A registered file could not be had by any route.

    Attributes
    ----------
    kind : {"offline", "absent", "failed", "unreadable"}
        Why the last route gave nothing. `offline`: no code host was asked, or none could be
        reached. `absent`: it answered that it has no such file. `failed`: it answered, and
        still did not give the file (too many requests, a server's error, a cut transfer,
        other content). `unreadable`: the file is here, and a reader does not understand it.
    cause : str
        The same in one line, with the file's name.
    """

    def __init__(self, message, *, kind="offline", cause=""):
        super().__init__(message)
        self.kind = kind
        self.cause = cause or message


class _Problem(NamedTuple):
    """What a code host did instead of giving a file.

    Attributes
    ----------
    text : str
        In words, with the address.
    kind : str
        As in `DataUnavailable`.
    """

    text: str
    kind: str


class _Known:
    """What this process knows about code hosts, by their address: whom to wait for, whom to leave alone."""

    def __init__(self):
        self.lock = threading.Lock()
        # By address: when a problem is forgotten, and the problem; when the host may be asked again;
        # seconds waited so far.
        self.problems = {}
        self.pauses = {}
        self.waited = {}

    def problem(self, base):
        """Return the problem that is still remembered of a host, or None."""
        until, found = self.problems.get(base, (0, None))
        return found if time.monotonic() < until else None

    def remember(self, base, problem, seconds=FORGET_AFTER):
        """Keep a host's problem in mind for some seconds, and return it."""
        self.problems[base] = (time.monotonic() + seconds, problem)
        return problem

    def ask_later(self, base, seconds):
        """Let everybody wait for a host; False when that takes longer than we are willing to."""
        with self.lock:
            now = time.monotonic()
            already_until = max(self.pauses.get(base, now), now)
            more = max(now + seconds - already_until, 0)
            altogether = self.waited.get(base, 0) + more
            if altogether > LONGEST_WAIT:
                return False
            self.waited[base] = altogether
            self.pauses[base] = max(self.pauses.get(base, 0), now + seconds)
            return True

    def wait(self, base):
        """Sleep until a host may be asked again."""
        left = self.pauses.get(base, 0) - time.monotonic()
        if left > 0:
            time.sleep(left)


_known = _Known()
_threads = threading.local()


def read(entry):
    """Return the verified content of a registered file.

    Parameters
    ----------
    entry : nlgjudge.data.registry.Entry

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
    for route in (_from_cache, _from_mirror):
        content, outcome = route(entry)
        if content is not None:
            return content
        tried.append(outcome)
    content, problem = _from_upstream(entry)
    if content is not None:
        return content
    use(_inside(cache(), entry.location))  # whoever asked for it depends on it: it may come
    tried.append(f"network: {problem.text}")
    advice = "Give a network, or a mirror folder in NLGJUDGE_MIRROR, or copy the file to the cache."
    if os.environ.get("NLGJUDGE_OFFLINE"):
        advice += (
            " `nlgjudge data fetch --declared` fetches what the notebooks' metadata declare: "
            "benchmarks, recordings, prompts."
        )
    lines = [f"{entry.path} of {entry.repository} ({entry.benchmark}) could not be had:"]
    lines += [f"  {number}. {outcome}" for number, outcome in enumerate(tried, 1)]
    lines.append(advice)
    raise DataUnavailable(
        "\n".join(lines),
        kind=problem.kind,
        cause=f"{entry.path} of {entry.repository}: {problem.text}",
    )


def read_all(wanted, *, label="fetch"):
    """Have several registered files at hand, downloading side by side what is missing.

    A progress bar counts files and megabytes on a terminal; elsewhere it is quiet.

    Parameters
    ----------
    wanted : iterable of nlgjudge.data.registry.Entry
        A file that is named twice is fetched once.
    label : str
        Words before the bar.

    Returns
    -------
    dict
        By entry, None or the `DataUnavailable` that `read` raised.

    Raises
    ------
    NotADirectoryError, ValueError, OSError
        As `read`; the files that are not yet begun are then left.
    """
    from tqdm import tqdm

    once = {entry.location: entry for entry in wanted}
    entries = list(once.values())
    found = dict.fromkeys(entries)
    pool = ThreadPoolExecutor(WORKERS)
    size = 0
    try:
        running = {pool.submit(read, entry): entry for entry in entries}
        with tqdm(total=len(entries), desc=label, unit="file", disable=None) as bar:
            for done in as_completed(running):
                try:
                    size += len(done.result())
                except DataUnavailable as error:
                    found[running[done]] = error
                bar.set_postfix_str(f"{size / 1e6:.1f} MB", refresh=False)
                bar.update()
    finally:
        pool.shutdown(cancel_futures=True)
    return found


def local(entry):
    """Return where a registered file lies on this machine, unverified, or None."""
    folders = [cache()]
    if mirror():
        folders.append(Path(mirror()))
    for folder in folders:
        path = _inside(folder, entry.location)
        if path.is_file():
            return path
    return None


def _from_cache(entry):
    return _from_folder("cache", cache(), entry)


def _from_mirror(entry):
    folder = mirror()
    if not folder:
        return None, "mirror: NLGJUDGE_MIRROR is not set"
    if not Path(folder).is_dir():
        raise NotADirectoryError(
            f"NLGJUDGE_MIRROR={folder} is not a folder; name one laid out "
            "owner/repository/commit/path, or set it to nothing to do without"
        )
    return _from_folder("mirror", Path(folder), entry)


def _from_folder(name, folder, entry):
    path = _inside(folder, entry.location)
    if path.is_symlink() and not path.exists():
        return None, f"{name}: {path} is a link to {os.readlink(path)}, where there is nothing"
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


def _from_upstream(entry):
    """Return the content and None, or None and the problem."""
    base = os.environ.get("NLGJUDGE_UPSTREAM", UPSTREAM)
    url = f"{base}/{entry.location}"
    if os.environ.get("NLGJUDGE_OFFLINE"):
        return None, _Problem(f"{url} not tried, NLGJUDGE_OFFLINE is set", "offline")
    earlier = _known.problem(base)
    if earlier:
        return None, earlier
    target = _inside(cache(), entry.location)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".partial-") as folder:
            temporary = Path(folder, target.name)
            problem = _download(base, url, temporary)
            if problem:
                return None, problem
            content = temporary.read_bytes()
            wrong = check(entry, content)
            if wrong:
                return None, _Problem(f"{url} {wrong}", "failed")
            os.replace(temporary, target)
    except OSError as error:
        raise _write_error(error, target, entry) from error
    use(target)
    return content, None


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
    """Join folder and location; links inside the folder are its owner's own business."""
    if location.is_absolute() or ".." in location.parts:
        raise ValueError(
            f"the registry's path {location} would leave {folder}; "
            "correct that row of data/registry.csv"
        )
    return folder / location


def _download(base, url, path):
    """Write what an address answers to a file; return None, or the problem."""
    # Imported here: notebooks that find their data locally do not need it.
    import requests

    failures = 0
    refusals = 0
    while True:
        _known.wait(base)
        try:
            with _session().get(url, stream=True, timeout=TIMEOUT) as response:
                status = response.status_code
                if status == 429 or (status == 503 and _asked_wait(response)):
                    refusals += 1
                    problem = _refused(base, url, response, refusals)
                    if problem:
                        return problem
                    continue
                if 400 <= status < 500:
                    kind = "absent" if status in (404, 410) else "failed"
                    return _Problem(f"{url} answered {status}", kind)
                response.raise_for_status()
                with open(path, "wb") as handle:
                    for piece in response.iter_content(1 << 16):
                        handle.write(piece)
            return None
        except requests.RequestException as error:
            failures += 1
            problem = _failure(base, url, error)
        if failures == RETRIES:
            return _give_up(base, problem)
        if problem.kind == "failed":  # a host that is not there is not waited for
            time.sleep(2 ** (failures - 1))


def _session():
    """Keep one connection open in each thread."""
    import requests

    if not hasattr(_threads, "session"):
        _threads.session = requests.Session()
    return _threads.session


def _failure(base, url, error):
    """Say what a failed request was: a host that is not there, or one that does not do its part."""
    import requests

    kind = type(error).__name__
    if isinstance(error, requests.HTTPError):
        return _Problem(f"{url} answered {error.response.status_code}", "failed")
    if isinstance(error, requests.exceptions.SSLError):
        return _Problem(f"{base} shows a certificate that cannot be trusted ({kind})", "failed")
    # What requests wraps here is an error of its own transport: a connection that was made, and cut.
    reached = error.args and type(error.args[0]).__name__ == "ProtocolError"
    if isinstance(error, requests.ConnectionError) and not reached:
        return _Problem(f"{base} cannot be reached ({kind})", "offline")
    return _Problem(f"{url} failed ({kind})", "failed")


def _give_up(base, problem):
    """The problem after the last attempt; a host that cannot be reached is then left alone for a while."""
    if problem.kind == "offline":
        cause = problem.text.rpartition("(")[2].rstrip(")")
        _known.remember(base, _Problem(f"{base} did not answer earlier ({cause})", "offline"))
    return problem._replace(text=f"{problem.text}, {RETRIES} times")


def _refused(base, url, response, refusals):
    """Let everybody wait as long as the host asks; return the problem where that is too long."""
    asked = _asked_wait(response)
    seconds = asked
    if asked is None:
        seconds = min(2 ** (refusals - 1), 30)
    if refusals <= MOST_REFUSALS and _known.ask_later(base, seconds):
        return None
    text = f"{url} answered {response.status_code} (too many requests)"
    if asked is not None:
        text += f" and asks to wait {asked:.0f} s"
    problem = _Problem(f"{text}; run it again later: what was fetched is kept", "failed")
    return _known.remember(base, problem, max(min(seconds, FORGET_AFTER), 1))


def _asked_wait(response):
    """Seconds that `Retry-After` asks for, given as a number or a date; None without one."""
    given = response.headers.get("Retry-After", "").strip()
    if not given:
        return None
    if given.isdecimal():
        return float(given)
    try:
        moment = parsedate_to_datetime(given)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)


def _write_error(error, target, entry):
    """The error in words of ours where the disk is full or cannot be written, else as it is."""
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return OSError(
            error.errno,
            f"{entry.path} cannot be stored in {target.parent} ({error.strerror}); "
            "name a folder that can be written in NLGJUDGE_CACHE",
        )
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return error
    size = entry.bytes or "unknown number of"
    return OSError(
        error.errno,
        f"no space left to store {entry.path} ({size} bytes) in {target.parent}; "
        "free some space or move data/cache; nothing partial was kept",
    )
