"""The key in `OPENAI_API_KEY`: from the environment into a request, and nowhere else."""

import os
import re
from functools import lru_cache
from urllib.parse import quote

from nlgjudge.judging.judge import JudgeError

_SHORTEST = 8  # characters; a shorter key is a placeholder, as "none" for a server without keys
_PART = 12  # characters of a key that no other text has in common with it


def api_key() -> str | None:
    """Return the key without blanks around it, None without one.

    Raises
    ------
    JudgeError
        For a key that cannot be the header of a request; it is not shown.
    """
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()):
        raise JudgeError(
            "the key in OPENAI_API_KEY has a line break, a control character or one that is not ASCII, which cannot be "
            "sent: set it again"
        )
    return key or None


def without_key(value):
    """The same text, list or dict with ``[key]`` in the place of the key.

    It is found whole, URL-encoded, as Python writes it, masked (``sk-ab****wxyz``), by its beginning, or by any twelve
    characters of it.
    """
    if isinstance(value, list):
        return [without_key(part) for part in value]
    if isinstance(value, dict):
        return {without_key(name): without_key(part) for name, part in value.items()}
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not isinstance(value, str) or len(key) < _SHORTEST:
        return value
    blocks, pattern = _pattern(key)
    folded = value.casefold()
    return pattern.sub("[key]", value) if any(block in folded for block in blocks) else value


@lru_cache(maxsize=8)
def _pattern(key):
    """What every part of a key contains, one of them; and a pattern of its parts."""
    spellings = {key, quote(key, safe=""), repr(key)[1:-1]}
    length = min(_PART, len(key))
    parts = {part for one in spellings for part in _slices(one, length, 1)}
    begin = [re.escape(key[:number]) for number in range(_PART - 1, 2, -1)]
    patterns = [
        rf"(?:(?={'|'.join(map(re.escape, parts))}).)+.{{{length - 1}}}",
        rf"(?<!\w)(?:{'|'.join(begin)})[*•.…]{{2,}}(?:[\w-]{{0,{_SHORTEST}}}(?!\w))?",
        "|".join(begin[: _PART - _SHORTEST]),
    ]
    half = length // 2
    blocks = {block for one in spellings for block in _slices(one, half, half)} | {key[:3]}
    return {block.casefold() for block in blocks}, re.compile("|".join(patterns), re.I | re.S)


def _slices(text, length, step):
    return [text[at : at + length] for at in range(0, len(text) - length + 1, step)]
