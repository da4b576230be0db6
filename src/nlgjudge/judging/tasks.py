"""What a judge is asked and what it answers.

A task is one item under one prompt; a judge yields a reply per sample. Parsing and scoring
come later and cost nothing, so a reply keeps the text as it came.
"""

import hashlib
import json
from typing import NamedTuple


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
    scale : tuple of float
        Lowest and highest rating.
    form : str
        How the reply is to be parsed, one of `nlgjudge.judging.parsing.FORMS`.
    n : int
        Samples wanted.
    settings : dict
        Sampling parameters: `temperature, top_p, max_tokens`, and `logprobs` for G-Eval's
        token probabilities.
    """

    item_id: str
    aspect: str
    text: str
    fields: dict
    scale: tuple
    form: str
    n: int = 1
    settings: dict = {}

    def request(self, model):
        """The request's body without the number of samples, which decides its key."""
        return {"model": model, "messages": [{"role": "user", "content": self.text}], **self.settings}


class Reply(NamedTuple):
    """One sample of a judge's answer.

    Attributes
    ----------
    item_id, aspect : str
    sample_index : int
    text : str
        As it came; empty when there is none.
    reason : str
        Why there is none (`content_filter`, `not recorded`, an error), else empty.
    logprobs : list
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
    items : pandas.DataFrame
        `item_id, source, hypothesis, references, context`.
    prompt : nlgjudge.judging.prompts.Prompt
    n : int
        Samples an item.
    **settings
        Sampling parameters.
    """

    def __init__(self, items, prompt, *, n=1, **settings):
        self.items, self.prompt, self.n, self.settings = items, prompt, n, settings

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        for item in self.items.itertuples():
            fields = {"source": item.source, "hypothesis": item.hypothesis, "context": item.context,
                      "reference": item.references[0] if len(item.references) else ""}
            yield Task(item.item_id, self.prompt.aspect, self.prompt.render(fields), fields,
                       tuple(self.prompt.scale), self.prompt.form, self.n, self.settings)


def key(request):
    """Digest of a request's body, by which its replies are stored."""
    return hashlib.sha256(json.dumps(request, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
