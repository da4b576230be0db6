"""Find an upstream file in the cache, a mirror folder or at the code host, and verify it.

A file is verified by its git blob id wherever it comes from, and only verified content is written to
the cache, under another name first, so that an interruption leaves no damaged file.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache as once
from pathlib import Path
from typing import Literal

import requests
from requests.adapters import HTTPAdapter
from tqdm import tqdm
from urllib3.exceptions import MaxRetryError, ProtocolError, ReadTimeoutError, SSLError
from urllib3.util import Retry

from nlgjudge.data.paths import cache, mirror, use
from nlgjudge.data.registry import Entry, blob_id, entries

UPSTREAM = "https://raw.githubusercontent.com"
RETRIES = 5
TIMEOUT = (5, 30)  # seconds to connect, and between two pieces of the response
WORKERS = 8  # concurrent downloads
LONGEST_WAIT = 120  # seconds: if `Retry-After` asks for more, the download fails at once
FORGET_AFTER = 60  # seconds after which an unreachable host is tried again
_unreachable: dict[str, float] = {}  # until when an address is not tried


class DataUnavailable(Exception):
    """A registered file is unavailable.

    Attributes
    ----------
    kind
        `offline`: no host was asked or reached. `absent`: the host has no such file. `failed`: the
        host answered but did not deliver the file (too many requests, server error, dropped
        connection, other content). `unreadable`: the file is here but has an unexpected layout.
    cause
        The reason in one line, with the file's name.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: Literal["offline", "absent", "failed", "unreadable"] = "offline",
        cause: str = "",
    ):
        super().__init__(message)
        self.kind = kind
        self.cause = cause or message


def read(entry: Entry | str, *, optional: bool = False) -> bytes:
    """Return the verified content of a registered file.

    Parameters
    ----------
    entry
        From `nlgjudge.data.registry.entries`, or the end of the file's path.
    optional
        Download the file even if it is optional.

    Raises
    ------
    DataUnavailable
        With a line for the cache, the mirror and the network.
    NotADirectoryError
        If `NLGJUDGE_MIRROR` is not a folder.
    """
    if isinstance(entry, str):
        (entry,) = entries(path=entry)
    tried = []
    for name, folder in _folders():
        path = folder / entry.location
        if not path.is_file():
            tried.append(f"{name}: no {path}")
            continue
        content = path.read_bytes()
        problem = check(entry, content)
        if not problem:
            use(path)
            return content
        tried.append(f"{name}: {path} {problem}")
    if len(tried) == 1:
        tried.append("mirror: NLGJUDGE_MIRROR is not set")
    target = use(cache() / entry.location)
    try:
        if entry.optional and not optional:
            raise DataUnavailable("it is optional: `nlgjudge data fetch --optional` downloads it")
        content = _download(entry)
    except DataUnavailable as error:
        lines = [f"{entry.path} of {entry.repository} ({entry.benchmark}) is unavailable:"]
        tried.append(f"network: {error}")
        lines += [f"  {number}. {outcome}" for number, outcome in enumerate(tried, 1)]
        lines.append("Connect to a network, or name a mirror folder in NLGJUDGE_MIRROR.")
        cause = f"{entry.path} of {entry.repository}: {error}"
        raise DataUnavailable("\n".join(lines), kind=error.kind, cause=cause) from None
    _write(target, content)
    return content


def read_all(
    wanted: Iterable[Entry], *, label: str = "fetch"
) -> dict[Entry, DataUnavailable | None]:
    """Download the missing ones of several registered files concurrently, with a progress bar.

    Parameters
    ----------
    wanted
        A file named twice is fetched once.
    label
        Text before the bar.

    Returns
    -------
    dict
        By entry: None, or the error that `read` raised.
    """
    entries = list({entry.location: entry for entry in wanted}.values())
    errors: dict[Entry, DataUnavailable | None] = dict.fromkeys(entries)
    size = 0
    pool = ThreadPoolExecutor(WORKERS)
    try:
        running = {pool.submit(read, entry, optional=True): entry for entry in entries}
        with tqdm(total=len(entries), desc=label, unit="file", disable=None) as bar:
            for done in as_completed(running):
                try:
                    size += len(done.result())
                except DataUnavailable as error:
                    errors[running[done]] = error
                bar.set_postfix_str(f"{size / 1e6:.1f} MB", refresh=False)
                bar.update()
    finally:
        pool.shutdown(cancel_futures=True)
    return errors


def local(entry: Entry) -> Path | None:
    """Return the path of a registered file on this machine, not verified, or None."""
    paths = [Path(folder) / entry.location for folder in (cache(), mirror()) if folder]
    return next((path for path in paths if path.is_file()), None)


def check(entry: Entry, content: bytes) -> str:
    """Say how content differs from the registered file; empty if it does not."""
    blob = blob_id(content)
    if blob == entry.blob:
        return ""
    kind = f"has other content ({len(content):,} bytes)"
    if content.lstrip()[:1] == b"<":
        kind = "is an HTML or XML page, not the file"
    elif entry.bytes and len(content) < entry.bytes:
        kind = f"is truncated: expected {entry.bytes:,} bytes, got {len(content):,}"
    return f"{kind}; expected git blob {entry.blob}, got {blob}"


def _folders():
    """Name and path of each folder that may have a file."""
    yield "cache", cache()
    folder = mirror()
    if folder and not Path(folder).is_dir():
        raise NotADirectoryError(
            f"NLGJUDGE_MIRROR={folder} is not a folder; name one laid out "
            "owner/repository/commit/path, or set it to nothing"
        )
    if folder:
        yield "mirror", Path(folder)


class _Retry(Retry):
    """Waits as `Retry-After` asks, up to `LONGEST_WAIT`."""

    def increment(self, method=None, url=None, response=None, *arguments, **options):
        if response is not None and (self.get_retry_after(response) or 0) > LONGEST_WAIT:
            raise MaxRetryError(None, url)
        return super().increment(method, url, response, *arguments, **options)


@once
def _session():
    statuses = (429, 500, 502, 503, 504)
    options = {"status_forcelist": statuses, "raise_on_status": False, "connect": 0}
    retry = _Retry(RETRIES, backoff_factor=1, **options)
    session = requests.Session()
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(max_retries=retry, pool_maxsize=WORKERS))
    return session


def _download(entry):
    """Verified content from the code host, or DataUnavailable."""
    base = os.environ.get("NLGJUDGE_UPSTREAM", UPSTREAM)
    url = f"{base}/{entry.location}"
    if os.environ.get("NLGJUDGE_OFFLINE"):
        raise DataUnavailable(f"{url} not tried, NLGJUDGE_OFFLINE is set")
    if time.monotonic() < _unreachable.get(base, 0):
        raise DataUnavailable(f"{base} was unreachable less than {FORGET_AFTER} s ago")
    try:
        response = _get(url)
    except requests.RequestException as error:
        if not _is_offline(error):
            raise DataUnavailable(f"{url} failed ({error})", kind="failed") from error
        _unreachable[base] = time.monotonic() + FORGET_AFTER
        raise DataUnavailable(f"{base} is unreachable ({type(error).__name__})") from error
    if not response.ok:
        kind = "absent" if response.status_code in (404, 410) else "failed"
        text = f"{url} answered {response.status_code}"
        if wait := response.headers.get("Retry-After"):
            text += f" and asks to wait {wait} s; run it again later"
        raise DataUnavailable(text, kind=kind)
    if problem := check(entry, response.content):
        raise DataUnavailable(f"{url} {problem}", kind="failed")
    return response.content


def _get(url):
    """Response with its whole body; the retries of `_session` end where a body begins."""
    for attempt in range(RETRIES + 1):
        try:
            return _session().get(url, timeout=TIMEOUT)
        except requests.exceptions.ChunkedEncodingError:
            if attempt == RETRIES:
                raise


def _is_offline(error):
    """Whether no host was reached."""
    reason = getattr(error.args[0], "reason", error.args[0]) if error.args else None
    reached = (ProtocolError, ReadTimeoutError, SSLError)
    return isinstance(error, requests.ConnectionError) and not isinstance(reason, reached)


def _write(target, content):
    """Write to the cache under another name, then rename."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".partial-", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.replace(file.name, target)
        except BaseException:
            os.unlink(file.name)
            raise
