"""Headless Chromium over its DevTools protocol, for tests of what a reader sees."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
MARKS = [
    pytest.mark.skipif(not CHROMIUM, reason="no chromium or google-chrome on PATH"),
    pytest.mark.skipif(not find_spec("websocket"), reason="websocket-client is not installed"),
]


def until(condition, what, seconds=300, pause=0.05):
    """Wait for a true value and return it; ask each so many seconds."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(pause)
    return found


class Page:
    """A page of a browser, the errors on its console and the addresses that it asked for."""

    def __init__(self, url):
        import websocket

        self.socket = websocket.create_connection(url, timeout=120, suppress_origin=True)
        self.number, self.errors, self.requests = 0, [], set()
        for name in ("Runtime", "Log", "Page", "Network"):
            self.send(f"{name}.enable")

    def send(self, method, **parameters):
        """Send a command and return its result, noting errors and requests on the way."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while (message := json.loads(self.socket.recv())).get("id") != self.number:
            self._note(message["method"], message["params"])
        assert "error" not in message, message
        return message["result"]

    def _note(self, event, about):
        if event == "Runtime.exceptionThrown":
            self.errors.append(
                about["exceptionDetails"].get("exception", {}).get("description", "exception")
            )
        elif event == "Runtime.consoleAPICalled" and about["type"] == "error":
            self.errors.append(str([a.get("value", a.get("description")) for a in about["args"]]))
        elif event == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
        elif event == "Network.requestWillBeSent":
            self.requests.add(about["request"]["url"])

    def open(self, url):
        """Load a page, with all that it loads itself."""
        self.js(
            "window.left = true"
        )  # the page before may still be there for a moment, complete as it is
        elsewhere = "loaderId" in self.send(
            "Page.navigate", url=url
        )  # not another place of the same page
        ready = "document.readyState === 'complete'" + " && !window.left" * elsewhere
        until(lambda: self.js(ready), url)

    def js(self, code):
        """Value of an expression, awaited where it is a promise."""
        result = self.send(
            "Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def show(self, width=1200, height=900, **media):
        """Set the window's size and what styles may ask for, as ``media="print"``, ``scheme="dark"``."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        self.send(
            "Emulation.setEmulatedMedia",
            media=media.get("media", "screen"),
            features=[{"name": "prefers-color-scheme", "value": media.get("scheme", "light")}],
        )


@contextlib.contextmanager
def browser(page_class=Page):
    """Start a browser and give its page; the browser and its profile are gone afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                CHROMIUM,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-port=0",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--no-proxy-server",
                "--window-size=1200,900",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            note = Path(profile) / "DevToolsActivePort"
            port = until(
                lambda: note.exists() and note.read_text().split("\n")[0], "the browser's start"
            )
            with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=120) as answer:
                target = next(t for t in json.load(answer) if t["type"] == "page")
            page = page_class(target["webSocketDebuggerUrl"])
            yield page
            page.socket.close()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)
