"""Weights of the neural metrics: how large they are, and where they are on this machine."""

import json
from pathlib import Path
from typing import NamedTuple

from nlgjudge.namespaces import optional

# Gigabytes of the weights; kind, layers and width of the encoder.
_T5_LARGE = (3.1, "t5", 24, 1024)
MODELS = {
    "bert-base-uncased": (0.4, "bert", 12, 768),
    "roberta-large": (1.4, "roberta", 24, 1024),
    "facebook/bart-base": (0.6, "bart", 6, 768),
    "facebook/bart-large": (1.0, "bart", 12, 1024),
    "facebook/bart-large-cnn": (1.6, "bart", 12, 1024),
    "MingZhong/unieval-sum": _T5_LARGE,
    "MingZhong/unieval-dialog": _T5_LARGE,
    "MingZhong/unieval-fact": _T5_LARGE,
}


class Checkpoint(NamedTuple):
    """Weights on this machine.

    Attributes
    ----------
    place : str
        Folder.
    parameters : str
        File whose parameters replace the checkpoint's; empty for none.
    """

    place: str
    parameters: str = ""


def size(name):
    """Return the size of a model's weights in words.

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
    return f"{MODELS[name][0]} GB" if name in MODELS else "of unknown size"


def checkpoint(name, folder="", parameters=""):
    """Find a model's weights on this machine; nothing is downloaded.

    Parameters
    ----------
    name : str
        Hub name, or a folder.
    folder : str or path-like
        Folder with models, as ``bart-large-cnn`` for ``facebook/bart-large-cnn``. Empty for the
        model hub's cache.
    parameters : str
        Name of a file in `folder` whose parameters are used, as BARTScore's ``bart_score.pth``, which is on no
        hub (see the README of neulab/BARTScore).

    Returns
    -------
    Checkpoint or None
        None where the weights are not here.

    Raises
    ------
    ValueError
        For a folder with another model than its name says.
    ImportError
        Without the extra `neural`.
    """
    last = name.rpartition("/")[2]
    places = [Path(name)]
    if folder:
        places = [Path(folder, part) for part in (name, name.replace("/", "--"), last)]
    place = next((place for place in places if (place / "config.json").is_file()), None)
    if place is None and not folder:
        file = optional("huggingface_hub", "neural").try_to_load_from_cache(name, "config.json")
        place = Path(file).parent if isinstance(file, str) else None
    if place is None or not (any(place.glob("*.safetensors")) or any(place.glob("*.bin"))):
        return None
    _check(name, place)
    file = Path(folder, parameters) if parameters else None
    if file and not (folder and file.is_file()):
        return None
    return Checkpoint(str(place), str(file or ""))


def _check(name, place):
    """Refuse a folder whose configuration is not that of the model of this name."""
    config = json.loads((place / "config.json").read_text(encoding="utf-8"))
    keys = ("encoder_layers", "num_hidden_layers", "num_layers")
    layers = next((config[key] for key in keys if key in config), None)
    got = (config.get("model_type"), layers, config.get("hidden_size", config.get("d_model")))
    expected = MODELS.get(name, (0, *got))[1:]
    if got != expected:
        raise ValueError(
            f"{place} is not {name}: expected {expected[0]} of {expected[1]} layers and width {expected[2]}, got "
            f"{got[0]} of {got[1]} layers and width {got[2]}; name another model in `models`"
        )
