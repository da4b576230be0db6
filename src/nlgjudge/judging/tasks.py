"""What a judge is asked and what it answers.

A task is one item under one prompt; a judge yields a reply per sample. Parsing and scoring
come later and cost nothing, so a reply keeps the text as it came. Its key is the digest of
the whole request and of the endpoint that it goes to, because two servers may call different
models by one name.
"""

import hashlib
import json
import os
from typing import NamedTuple
from urllib.parse import urlsplit

from nlgjudge.judging.reading import Reading

# What the OpenAI client calls where OPENAI_BASE_URL is not set.
DEFAULT_ENDPOINT = "https://api.openai.com/v1"
# Reasons of a reply that a later run may still bring: its call failed, or the run stopped at a limit before.
NOT_ANSWERED = "not answered"
NOT_ASKED = "not asked"
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Task(NamedTuple):
    """One item to be judged.

    Attributes
    ----------
    item_id, aspect : str
    text : str
        The rendered prompt.
    fields : dict of str to str
        What filled its slots: `source, hypothesis, reference, context`; rule-based judges
        look at these instead of the text.
    reading : nlgjudge.judging.reading.Reading
        How the reply is to be read.
    n : int
        Samples wanted.
    settings : dict
        Sampling parameters: `temperature, top_p, max_tokens`, and `logprobs` for G-Eval's
        token probabilities.
    prompt, digest : str
        Name and digest of the prompt, by which its replies can be found again.
    system : str
        A system message that is sent before the text; empty for none.

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
    system: str = ""

    def request(self, model):
        """The request's body without the number of samples, which decides its key."""
        messages = [{"role": "user", "content": self.text}]
        if self.system:
            messages.insert(0, {"role": "system", "content": self.system})
        return {"model": model, "messages": messages, **self.settings}


class Reply(NamedTuple):
    """One sample of a judge's answer.

    Attributes
    ----------
    item_id, aspect : str
    sample_index : int
    text : str
        As it came; empty when there is none.
    reason : str
        Why there is none (`content_filter`, `length`, `refusal`, `reasoning_only`, `tool_calls`, `empty`,
        `not asked`, `not answered`, `not recorded`), else empty.
    logprobs : list
        Per token ``[token, [[alternative, logprob], ...]]`` where asked for and given.

    Examples
    --------
    >>> Reply("item", "fluency", 0, "- Fluency: 4").reason
    ''
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
    items : pandas.DataFrame
        `item_id, source, hypothesis, references, context`.
    prompt : nlgjudge.judging.prompts.Prompt
    n : int
        Samples an item.
    **settings
        Sampling parameters.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> from nlgjudge.judging.prompts import prompt
    >>> items = load("summeval", "sample").items.head(2)
    >>> tasks = Tasks(items, prompt("geval/summarization/fluency"), n=20, temperature=1)
    >>> [(task.aspect, task.n, task.settings) for task in tasks][0]
    ('fluency', 20, {'temperature': 1})
    """

    def __init__(self, items, prompt, *, n=1, **settings):
        self.items = items
        self.prompt = prompt
        self.n = n
        self.settings = settings

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        asked = self.prompt
        digest = asked.digest
        # As plain objects, which pandas hands out faster than its own strings.
        for item in self.items.astype(object).itertuples():
            fields = fields_of(item)
            yield Task(
                item.item_id,
                asked.aspect,
                asked.render(fields),
                fields,
                asked.reading,
                self.n,
                self.settings,
                prompt=asked.name,
                digest=digest,
                system=asked.system,
            )


def fields_of(item):
    """Give what an item's texts are called in a prompt.

    Parameters
    ----------
    item : namedtuple
        A row of a benchmark's items, as `itertuples` gives it.

    Returns
    -------
    dict
        `source, hypothesis, context, reference`; of several references the first, empty without one.
    """
    return {
        "source": item.source,
        "hypothesis": item.hypothesis,
        "context": item.context,
        "reference": item.references[0] if len(item.references) else "",
    }


def endpoint(url=""):
    """Say where requests go, so that two spellings of one address are one, and no secret is in it.

    Parameters
    ----------
    url : str
        As `OPENAI_BASE_URL` has it; empty for the client's default.

    Returns
    -------
    str
        Scheme, host, port and path. User, password, query and fragment are left out, and so is
        a part of the path that is the key.

    Raises
    ------
    ValueError
        For something that is no address.

    Examples
    --------
    >>> endpoint("HTTPS://me:secret@API.example.com:443/v1/?key=secret")
    'https://api.example.com/v1'
    >>> endpoint()
    'https://api.openai.com/v1'
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
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if port is not None and port != _DEFAULT_PORTS[scheme]:
        host = f"{host}:{port}"
    secret = os.environ.get("OPENAI_API_KEY", "")
    path = parts.path.rstrip("/").removesuffix("/chat/completions").split("/")
    if len(secret) >= 8:
        path = ["[key]" if part == secret else part for part in path]
    return f"{scheme}://{host}{'/'.join(path)}"


def key(request, endpoint):
    """Digest of a request as it is asked and of where it goes, by which its replies are stored.

    Parameters
    ----------
    request : dict
        The body.
    endpoint : str
        As `endpoint` gives it.

    Returns
    -------
    str
    """
    whole = {"endpoint": endpoint, "request": request}
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
