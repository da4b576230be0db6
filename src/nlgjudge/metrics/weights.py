"""Weights of the neural metrics: how large they are, and where they lie.

They come from a folder of one's own, from the model hub's cache, or from the hub itself. A folder that does not
hold the model of its name is refused, as far as the model's configuration tells.
"""

import json
from pathlib import Path
from typing import NamedTuple

# A file of BARTScore's authors (neulab/BARTScore, README): bart-large-cnn trained on ParaBank 2. It is on no hub.
PARABANK = "bart_score.pth"


class Model(NamedTuple):
    """What is known of a model before its weights are here.

    Attributes
    ----------
    gigabytes : float
        Of the weights, rounded.
    kind : str
        Its `model_type`, as ``"roberta"``.
    layers, width : int
        Of the encoder.
    """

    gigabytes: float
    kind: str
    layers: int
    width: int


_T5_LARGE = Model(3.1, "t5", 24, 1024)
MODELS = {
    "bert-base-uncased": Model(0.4, "bert", 12, 768),
    "roberta-large": Model(1.4, "roberta", 24, 1024),
    "facebook/bart-base": Model(0.6, "bart", 6, 768),
    "facebook/bart-large": Model(1.0, "bart", 12, 1024),
    "facebook/bart-large-cnn": Model(1.6, "bart", 12, 1024),
    "MingZhong/unieval-sum": _T5_LARGE,
    "MingZhong/unieval-dialog": _T5_LARGE,
    "MingZhong/unieval-fact": _T5_LARGE,
}


class MissingWeights(ValueError):
    """A model's weights cannot be had here."""


class Checkpoint(NamedTuple):
    """Weights that can be loaded.

    Attributes
    ----------
    place : str
        Folder, or the hub's name.
    parameters : str
        File whose parameters take the place of the checkpoint's; empty for none.
    """

    place: str
    parameters: str = ""


def size(name):
    """How much there is to download.

    Parameters
    ----------
    name : str
        Hub name.

    Returns
    -------
    str

    Examples
    --------
    >>> size("roberta-large"), size("my/model")
    ('1.4 GB', 'of unknown size')
    """
    return f"{MODELS[name].gigabytes} GB" if name in MODELS else "of unknown size"


def checkpoint(name, folder="", parameters=""):
    """Find a model's weights, or say what is missing.

    Parameters
    ----------
    name : str
        Hub name, or a folder.
    folder : str or path-like
        Where folders of models lie, as ``bart-large-cnn`` for ``facebook/bart-large-cnn``. Empty for the hub.
    parameters : str
        Name of a file beside the folders of models, whose parameters are taken.

    Returns
    -------
    Checkpoint

    Raises
    ------
    MissingWeights
        In one line, with the model, its size and what to do.
    """
    if parameters and not folder:
        raise MissingWeights(
            f"{parameters} (1.6 GB) is on no hub: download it as the README of neulab/BARTScore says, "
            f"and give --weights FOLDER with it and {_last(name)} inside"
        )
    if folder:
        place = _in_folder(name, Path(folder))
    elif Path(name).is_dir():
        place = _checked(name, Path(name))
    else:
        place = name
        _from_hub(name)
    if not parameters:
        return Checkpoint(str(place))
    file = Path(folder, parameters)
    if not file.is_file():
        raise MissingWeights(
            f"{file}: expected the parameters of BARTScore's authors (1.6 GB); download them as the "
            "README of neulab/BARTScore says"
        )
    return Checkpoint(str(place), str(file))


def whereabouts(name, folder="", parameters=""):
    """Say in a few words where a model's weights would come from; nothing is downloaded.

    Parameters
    ----------
    name, folder, parameters
        As for `checkpoint`.

    Returns
    -------
    str
        ``here``, ``to download`` or ``missing``.
    """
    if not folder and not parameters and not Path(name).is_dir():
        if _cached(name):
            return "here"
        return "missing" if _offline() else "to download"
    try:
        checkpoint(name, folder, parameters)
    except MissingWeights:
        return "missing"
    return "here"


def _last(name):
    return name.rpartition("/")[2]


def _in_folder(name, folder):
    """The model's folder among others; that of the hub's last name, or of the whole one."""
    for place in (folder / name, folder / name.replace("/", "--"), folder / _last(name)):
        if (place / "config.json").is_file():
            return _checked(name, place)
    raise MissingWeights(
        f"{name} ({size(name)}) is not in {folder}: expected a folder {_last(name)} there with "
        "config.json, a tokenizer and the weights; without --weights it is downloaded"
    )


def _checked(name, place):
    """The folder, if its configuration is that of the model of this name."""
    file = place / "config.json"
    if not file.is_file():
        raise MissingWeights(
            f"{place}: expected a folder of weights with config.json, a tokenizer and the weights"
        )
    expected = MODELS.get(name)
    if expected is None:
        return place
    config = json.loads(file.read_text(encoding="utf-8"))
    layers = next(
        (
            config[key]
            for key in ("encoder_layers", "num_hidden_layers", "num_layers")
            if key in config
        ),
        None,
    )
    width = config.get("hidden_size", config.get("d_model"))
    got = config.get("model_type"), layers, width
    if got != expected[1:]:
        raise MissingWeights(
            f"{place} is not {name}: expected {_in_words(*expected[1:])}, got {_in_words(*got)}; "
            "for another model than the paper's give --model ROW=FOLDER"
        )
    return place


def _in_words(kind, layers, width):
    return f"{kind} of {layers} layers and width {width}"


def _offline():
    from huggingface_hub import constants

    return constants.HF_HUB_OFFLINE


def _cached(name):
    from huggingface_hub import try_to_load_from_cache

    files = ("model.safetensors", "pytorch_model.bin")
    return any(isinstance(try_to_load_from_cache(name, file), str) for file in files)


def _from_hub(name):
    """Ask the hub about a model, so that a run says at once what it cannot have."""
    if _cached(name):
        return
    told = f"{name} ({size(name)}) cannot be downloaded"
    remedy = f"give --weights FOLDER with a folder {_last(name)} in it"
    if _offline():
        raise MissingWeights(
            f"{told}: HF_HUB_OFFLINE is set and it is not in the hub's cache; {remedy}"
        )
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        HfApi().model_info(name, timeout=10)
    except RepositoryNotFoundError as error:
        raise MissingWeights(f"{told}: the hub has no such model; {remedy}") from error
    except (
        Exception
    ) as error:  # the hub's client raises what its transport does, which changes with its version
        raise MissingWeights(
            f"{told}: the hub cannot be reached ({type(error).__name__}); {remedy}"
        ) from error
