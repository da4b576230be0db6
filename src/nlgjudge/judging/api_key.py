"""The API key: read from the environment, and kept out of every text."""

import os
import re
from functools import lru_cache
from urllib.parse import quote

from nlgjudge.judging.errors import JudgeError

NAMES = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN")
_SHORTEST = 8  # characters; a shorter key is a placeholder, as "none" for a server without keys
_PART = 12  # characters of a key that no other text has in common with it


def api_key(name="OPENAI_API_KEY"):
    """A key as it can be sent.

    Parameters
    ----------
    name : str
        Of the environment variable.

    Returns
    -------
    str or None
        Without blanks and line breaks around it; None without one.

    Raises
    ------
    JudgeError
        For a key that cannot be the header of a request. The message does not show it.
    """
    key = os.environ.get(name, "").strip()
    odd = next((character for character in key if not " " <= character <= "~"), "")
    if odd:
        kind = (
            "a line break or control character"
            if odd.isascii()
            else "a character that is not ASCII"
        )
        raise JudgeError(f"the key in {name} contains {kind}, which cannot be sent: set it again")
    return key or None


def without_key(value):
    """The same text, list or dict with ``[key]`` in the place of a key.

    A key is found whole, URL-encoded, as Python writes it, masked (``sk-ab****wxyz``), by its beginning, or by any
    twelve characters of it.

    Parameters
    ----------
    value : object
        As `json.loads` gives it.

    Returns
    -------
    object

    Examples
    --------
    >>> os.environ["AZURE_OPENAI_AD_TOKEN"] = "sk-3kf9w2m5x8"
    >>> without_key({"error": "Bearer sk-3kf9w2m5x8 and sk-3k***x8 are refused"})
    {'error': 'Bearer [key] and [key] are refused'}
    >>> del os.environ["AZURE_OPENAI_AD_TOKEN"]
    """
    if isinstance(value, str):
        for name in NAMES:
            key = os.environ.get(name, "").strip()
            if len(key) >= _SHORTEST:
                value = _hidden(value, key)
        return value
    if isinstance(value, list):
        return [without_key(one) for one in value]
    if isinstance(value, dict):
        return {without_key(name): without_key(one) for name, one in value.items()}
    return value


def _hidden(text, key):
    blocks, parts, masked = _pattern(key)
    folded = text.casefold()
    if not any(block in folded for block in blocks):
        return text
    text = masked.sub("[key]", text)
    found = [(match.start(1), match.end(1)) for match in parts.finditer(text)]
    for start, end in reversed(_joined(found)):
        text = f"{text[:start]}[key]{text[end:]}"
    return text


@lru_cache(maxsize=8)
def _pattern(key):
    """Blocks of a key, one of which every part of it contains; a pattern of its parts, and of it masked."""
    spellings = {key, quote(key, safe=""), repr(key)[1:-1]}
    parts = {one[:length] for one in spellings for length in range(_SHORTEST, _PART)}
    parts |= {one[at : at + _PART] for one in spellings for at in range(len(one) - _PART + 1)}
    half = _PART // 2
    blocks = {
        one[at : at + half] for one in spellings for at in range(0, len(one) - half + 1, half)
    }
    begin = "|".join(re.escape(key[:length]) for length in range(_SHORTEST, 2, -1))
    masked = rf"(?<!\w)(?:{begin})[*•.…]{{2,}}(?:[\w-]{{0,{_SHORTEST}}}(?!\w))?"
    longest_first = sorted(parts, key=len, reverse=True)
    return (
        {block.casefold() for block in blocks | {key[:3]}},
        re.compile(rf"(?=({'|'.join(map(re.escape, longest_first))}))", re.IGNORECASE),
        re.compile(masked, re.IGNORECASE),
    )


def _joined(spans):
    """Spans that do not overlap, in order."""
    found = []
    for start, end in spans:
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found
