"""What a judge is asked and what it answers.

A task is one item under one prompt; a judge yields a reply for each sample. Reading and scoring come later and cost
nothing, so a reply keeps its text as it came. Replies are stored under a digest of the whole request and of the
endpoint that it goes to, because two servers may call different models by one name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from nlgjudge.judging.prompts import FIELDS, texts
from nlgjudge.judging.reading import Reading

if TYPE_CHECKING:
    import pandas as pd

    from nlgjudge.judging.prompts import Prompt

# What the OpenAI client calls where OPENAI_BASE_URL is not set.
DEFAULT_ENDPOINT = "https://api.openai.com/v1"
# Reasons of a reply that a later run may still bring: its call failed, or the run stopped at a limit before.
NOT_ANSWERED = "not answered"
NOT_ASKED = "not asked"
NOT_RECORDED = "not recorded"
MISSING = (NOT_ASKED, NOT_ANSWERED, NOT_RECORDED)
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Task(NamedTuple):
    """One item to be judged.

    Attributes
    ----------
    text
        The rendered prompt.
    fields
        What filled its slots, and `source, hypothesis, reference, context`.
    reading
        How the reply is to be read.
    n
        Samples wanted.
    settings
        Sampling parameters: `temperature, top_p, max_tokens`, `logprobs`, and any other of the request.
    prompt, digest
        Name and digest of the prompt, by which its replies can be found again.
    before
        Messages that are sent before the text.

    Examples
    --------
    >>> task = Task("item", "fluency", "Rate this text from 1 to 5: ...", {})
    >>> task.request("MODEL")["messages"][0]["content"]
    'Rate this text from 1 to 5: ...'
    """

    item_id: str
    aspect: str
    text: str
    fields: dict
    reading: Reading = Reading()
    n: int = 1
    settings: dict = {}
    prompt: str = ""
    digest: str = ""
    before: Sequence[dict[str, str]] = ()

    def request(self, model: str) -> dict:
        """The request's body without the number of samples."""
        messages = [*self.before, {"role": "user", "content": self.text}]
        return {"model": model, "messages": messages, **self.settings}


class Reply(NamedTuple):
    """One sample of a judge's answer.

    Attributes
    ----------
    sample_index
        From 0.
    text
        As it came; empty when there is none.
    reason
        Why there is none (`content_filter`, `length`, `refusal`, `reasoning_only`, `tool_calls`, `empty`,
        `not asked`, `not answered`, `not recorded`), else empty.
    logprobs
        Per token ``[token, [[alternative, logprob], ...]]`` where asked for and given.
    """

    item_id: str
    aspect: str
    sample_index: int
    text: str
    reason: str = ""
    logprobs: list = []


class Tasks:
    """Tasks for a frame of items, rendered as they are read, so that memory stays flat.

    Parameters
    ----------
    items
        `item_id, source, hypothesis, references, context`.
    prompt
        As `nlgjudge.prompt` gives it.
    n
        Samples an item.
    **settings
        Sampling parameters.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> items = nj.load("summeval", "sample").items.head(2)
    >>> tasks = Tasks(items, nj.prompt("geval/summarization/fluency"), n=20, temperature=1)
    >>> [(task.aspect, task.n, task.settings) for task in tasks][0]
    ('fluency', 20, {'temperature': 1})
    """

    def __init__(self, items: pd.DataFrame, prompt: Prompt, *, n: int = 1, **settings):
        self.items = items
        self.prompt = prompt
        self.n = n
        self.settings = settings

    def __len__(self):
        return len(self.items)

    def __iter__(self) -> Iterator[Task]:
        prompt = self.prompt
        reading, digest = prompt.reading, prompt.digest
        named = ["reference" if name == "references" else name for name in self.items]
        names = [name for name in named if name in FIELDS or name in prompt.slots.values()]
        columns = [texts(self.items, name) for name in names]
        for item_id, *values in zip(self.items["item_id"], *columns):
            fields = dict(zip(names, values))
            *before, last = prompt.messages(fields)
            yield Task(
                item_id,
                prompt.aspect,
                last["content"],
                fields,
                reading,
                self.n,
                self.settings,
                prompt.name,
                digest,
                before,
            )


def endpoint(url: str = "") -> str:
    """Say where requests go, so that two spellings of one address are one, and no secret is in it.

    Parameters
    ----------
    url
        As `OPENAI_BASE_URL` has it; empty for the client's default.

    Returns
    -------
    str
        Scheme, host, port and path, without user, password, query, fragment, and a part of the path that is the key.

    Raises
    ------
    ValueError
        For something that is no address.

    Examples
    --------
    >>> endpoint("HTTPS://me:secret@API.example.com:443/v1/?key=secret")
    'https://api.example.com/v1'
    """
    try:
        parts = urlsplit(url or DEFAULT_ENDPOINT)
        port = parts.port
    except ValueError:
        parts = urlsplit("")
        port = None
    scheme = parts.scheme.lower()
    if scheme not in _DEFAULT_PORTS or not parts.hostname:
        # The address itself is not shown, for it may hold a password.
        raise ValueError(
            "the endpoint (OPENAI_BASE_URL) is no address of a server: expected one as "
            "https://HOST/v1 or http://localhost:8000/v1"
        )
    if "api-version" in parts.query:
        raise ValueError(
            "OPENAI_BASE_URL has an api-version: for Azure, set it to https://RESOURCE.openai.azure.com/openai/v1, "
            "OPENAI_API_KEY to Azure's key, and name your deployment as the model"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if port is not None and port != _DEFAULT_PORTS[scheme]:
        host = f"{host}:{port}"
    secret = os.environ.get("OPENAI_API_KEY", "")
    path = parts.path.rstrip("/").removesuffix("/chat/completions").split("/")
    if len(secret) >= 8:
        path = ["[key]" if part == secret else part for part in path]
    return f"{scheme}://{host}{'/'.join(path)}"


def one_spelling(request: dict) -> dict:
    """Write equal numbers alike at any depth: 0.0 as 0."""
    return json.loads(json.dumps(request), parse_float=_number)


def _number(text):
    return int(float(text)) if float(text).is_integer() else float(text)


def key(request: dict, endpoint: str, spelled=one_spelling) -> str:
    """Digest of a request as it is asked and of where it goes, by which its replies are stored."""
    whole = {"endpoint": endpoint, "request": spelled(request)}
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
