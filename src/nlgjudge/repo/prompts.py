"""Prompts as the command line names them: `prompts list` and `show`, and those of `judge` and `evaluate`."""

from pathlib import Path

from nlgjudge.data.choices import unknown
from nlgjudge.judging import prompts as library

_FIELDS = {"source", "hypothesis", "reference", "context"}  # what an item fills in


def show(action, name):
    """Print the names of all prompts, or one prompt's words.

    Parameters
    ----------
    action : str
        `list` or `show`.
    name : str
        Of the prompt to show.
    """
    if action == "list":
        print("\n".join(library.names()))
        return
    found = library.prompt(name)
    words = "the paper's words" if found.exact else "own words, in the paper's form"
    print(f"# {found.name}, {words}")
    print(f"# {found.source}")
    print(
        f"# aspect {found.aspect or 'any'}, scale {list(found.scale)}, reply form {found.form}, "
        f"digest {found.digest}"
    )
    print()
    print(found.body)


def chosen(given, aspects, *, aspect=None, scale=None, form=None, options=None):
    """Find the prompts that `judge` names.

    Parameters
    ----------
    given : list of str
        Names, beginnings that several names share, texts with slots, or paths of files with such a text.
    aspects : list of str
        That people rated.
    aspect, scale, form, options : optional
        Of a text.

    Returns
    -------
    list of nlgjudge.judging.prompts.Prompt

    Raises
    ------
    ValueError
        For what is none of these, a text without an aspect, or options of a text without a text.
    """
    found = []
    texts = 0
    for one in given:
        text = _text(one)
        if text is None:
            found += _named(one)
            continue
        texts += 1
        if not aspect:
            raise ValueError(
                "a prompt's own text needs --aspect: say which of "
                f"{', '.join(aspects)} it asks about"
            )
        if aspect not in aspects:
            raise ValueError(unknown("aspect", aspect, aspects))
        low, high = scale or (1, 5)
        if low >= high:
            raise ValueError(
                f"scale {low:g} {high:g}: expected the lowest rating first, then the highest"
            )
        found.append(
            library.as_prompt(
                text,
                aspect=aspect,
                scale=(low, high),
                form=form or "form",
                options=_scored(options),
            )
        )
    if not texts and (aspect or scale or form or options):
        raise ValueError(
            "--aspect, --scale, --form and --options are for a prompt's own text; a prompt by "
            "name has its own"
        )
    return list({(one.name, one.digest): one for one in found}.values())


def by_aspect(given, aspects, scale):
    """Find the prompts that `evaluate` names, by the aspect that stands in front.

    Parameters
    ----------
    given : list of str
        ``ASPECT=NAME``, ``ASPECT=TEXT`` or ``ASPECT=@FILE``. A prompt that names its aspect itself needs none
        in front.
    aspects : list of str
        That people rated.
    scale : (float, float)
        Of a text.

    Returns
    -------
    dict of str to list

    Raises
    ------
    ValueError
        For an unknown aspect.
    FileNotFoundError
    """
    found = {}
    for text in given:
        aspect, equals, rest = text.partition("=")
        aspect = aspect.strip()
        if equals and aspect in aspects:
            text = rest.strip()
        elif equals and "{{" not in aspect and "\n" not in aspect:
            raise ValueError(f"--prompts {text}: {unknown('aspect', aspect, aspects)}")
        else:
            aspect = ""
        if text.startswith("@"):
            text = _of_file(Path(text[1:]), aspect, scale)
        found.setdefault(aspect, []).append(text)
    return found


def _of_file(path, aspect, scale):
    if not path.is_file():
        raise FileNotFoundError(f"--prompts: there is no file {path}")
    # The last line break shows that it is a text and no name.
    body = path.read_text(encoding="utf-8").rstrip() + "\n"
    return library.as_prompt(body, aspect=aspect, scale=scale)._replace(name=path.name)


def _scored(options):
    """Scores by option, from ``TEXT=SCORE``."""
    found = {}
    for option in options or []:
        text, equals, score = option.rpartition("=")
        try:
            found[text] = float(score)
        except ValueError:
            equals = ""
        if not equals:
            raise ValueError(f"--options {option}: expected TEXT=SCORE, as Good=5")
    return found


def _text(given):
    """A prompt's own text, written on the command line or in a file; None for a name."""
    if "{{" in given or "\n" in given:
        return given
    path = Path(given)
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _named(given):
    """The prompt of a name, or those that rate an item among the ones whose names begin so."""
    known = library.names()
    if given in known or given.startswith("upstream:"):
        return [library.prompt(given)]
    begin = [library.prompt(name) for name in known if name.startswith(given)]
    rate = [one for one in begin if _rates(one)]
    if rate:
        return rate
    if begin:
        raise ValueError(
            f"none of the prompts that begin with {given!r} asks for a rating of an item"
        )
    raise ValueError(
        f"{unknown('prompt', given, known)} (`nlgjudge prompts list` names all; there is no "
        "file of this name either)"
    )


def _rates(one):
    """Whether a prompt asks for a rating, and shows nothing but an item."""
    return bool(one.scale) and set(one.slots.values()) <= _FIELDS | set(one.constants)
