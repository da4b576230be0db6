"""A code host on the loopback interface: it serves folders laid out owner/repository/commit/path.

Tests use `Upstream`. As a command it runs another command on a machine as most users have it: a
network, no mirror, and an empty cache.

    python tests/upstream.py ../shared/data/github -- make reproduce
"""

import argparse
import fnmatch
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


class Upstream:
    """Serve on 127.0.0.1 in threads of its own, as a context manager.

    Parameters
    ----------
    *folders : path-like
        Laid out as upstream's addresses; the first one that has a file serves it.
    missing : sequence of str
        Patterns of addresses that are answered with 404, as ``*/final_p.pkl``.
    refuse : int
        So many of the first requests are answered with `status`.
    status : int
        429 for too many requests, or an error of the server's, as 503.
    retry_after : str or None
        The header of that name in those answers.
    cut : int
        So many of the requests after those get half of the file, then no connection.
    drop : int
        So many of the first requests get no answer at all.

    Attributes
    ----------
    url : str
    asked : list of str
        Addresses in the order of their requests.
    statuses : collections.Counter
        How many requests got which status; cut ones count as ``cut``.
    """

    def __init__(
        self,
        *folders,
        missing=(),
        refuse=0,
        status=429,
        retry_after=None,
        cut=0,
        drop=0,
    ):
        self.folders = [Path(folder) for folder in folders]
        self.missing = missing
        self.refuse = refuse
        self.status = status
        self.retry_after = retry_after
        self.cut = cut
        self.drop = drop
        self.asked = []
        self.statuses = Counter()
        self.sent = 0
        self._lock = threading.Lock()

    def __enter__(self):
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.upstream = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def environment(self, cache):
        """Variables of a process that knows this host, no mirror, and the given cache."""
        return {
            "NLGJUDGE_UPSTREAM": self.url,
            "NLGJUDGE_MIRROR": "",
            "NLGJUDGE_CACHE": str(cache),
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def answer(self, address):
        """Return what a request gets: a status, or ``cut``, and the content."""
        with self._lock:
            self.asked.append(address)
            number = len(self.asked)
        if number <= self.drop:
            return "drop", b""
        if number <= self.refuse:
            return self.status, b""
        path = None
        if ".." not in Path(address).parts:
            path = next((f / address for f in self.folders if (f / address).is_file()), None)
        if path is None or any(fnmatch.fnmatchcase(address, pattern) for pattern in self.missing):
            return 404, b"404: Not Found"
        return "cut" if number <= self.refuse + self.cut else 200, path.read_bytes()

    def count(self, status, content):
        """Keep account of an answer."""
        with self._lock:
            self.statuses[status] += 1
            self.sent += len(content)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """A client may hang up; anything else is an error of the server's."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections stay open, as the code host keeps them

    def do_GET(self):
        upstream = self.server.upstream
        status, content = upstream.answer(unquote(self.path).lstrip("/"))
        upstream.count(status, content)
        if status == "drop":
            self.close_connection = True
            return
        self.send_response(200 if status == "cut" else status)
        self.send_header("Content-Length", str(len(content)))
        if status == upstream.status and upstream.retry_after is not None:
            self.send_header("Retry-After", upstream.retry_after)
        self.end_headers()
        if status == "cut":
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
        else:
            self.wfile.write(content)

    def log_message(self, *_):
        """Keep the output clean."""


def main(arguments=None):
    """Run a command behind the server and return its exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "folders", nargs="+", type=Path, help="laid out owner/repository/commit/path"
    )
    given = sys.argv[1:] if arguments is None else arguments
    if "--" not in given:
        parser.error("expected FOLDER ... -- COMMAND ...")
    split = given.index("--")
    folders = parser.parse_args(given[:split]).folders
    absent = [str(folder) for folder in folders if not folder.is_dir()]
    if absent:
        parser.error(f"no folder {', '.join(absent)}")
    with Upstream(*folders) as upstream, tempfile.TemporaryDirectory() as cache:
        print(f"{upstream.url} stands for the code host; no mirror, an empty cache", flush=True)
        status = subprocess.run(
            given[split + 1 :], env=os.environ | upstream.environment(cache), check=False
        ).returncode
        answers = ", ".join(f"{count} x {answer}" for answer, count in upstream.statuses.items())
        print(
            f"the code host answered {len(upstream.asked)} requests ({answers or 'none'}), "
            f"{upstream.sent / 1e6:.1f} MB",
            flush=True,
        )
    if not upstream.statuses[200]:
        print("expected the command to fetch files, got no request for one", file=sys.stderr)
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
