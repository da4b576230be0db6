"""Weights are found in a folder, refused where they are another model's, and named where they are missing."""

import json

import pytest

from nlgjudge.metrics import weights
from nlgjudge.metrics.weights import MissingWeights, checkpoint, whereabouts

BASE = {"model_type": "bart", "encoder_layers": 6, "d_model": 768}


def put(folder, config=BASE):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("place", ["bart-base", "facebook/bart-base", "facebook--bart-base"])
def test_a_model_is_found_by_its_last_or_its_whole_name(tmp_path, place):
    made = put(tmp_path / place)
    assert checkpoint("facebook/bart-base", tmp_path) == (str(made), "")
    assert whereabouts("facebook/bart-base", tmp_path) == "here"


def test_parameters_beside_the_weights(tmp_path):
    put(tmp_path / "bart-base")
    with pytest.raises(
        MissingWeights, match=r"bart_score.pth: expected the parameters of BARTScore's authors"
    ):
        checkpoint("facebook/bart-base", tmp_path, weights.PARABANK)
    assert whereabouts("facebook/bart-base", tmp_path, weights.PARABANK) == "missing"
    (tmp_path / weights.PARABANK).write_bytes(b"")
    assert checkpoint("facebook/bart-base", tmp_path, weights.PARABANK).parameters == str(
        tmp_path / weights.PARABANK
    )
    with pytest.raises(MissingWeights, match="is on no hub: .* give --weights FOLDER"):
        checkpoint("facebook/bart-base", "", weights.PARABANK)


@pytest.mark.parametrize(
    "changed", [{"d_model": 1024}, {"encoder_layers": 12}, {"model_type": "t5"}]
)
def test_another_model_under_the_name_is_refused(tmp_path, changed):
    put(tmp_path / "bart-base", BASE | changed)
    with pytest.raises(
        MissingWeights,
        match="is not facebook/bart-base: expected bart of 6 layers and width 768, got",
    ):
        checkpoint("facebook/bart-base", tmp_path)
    assert whereabouts("facebook/bart-base", tmp_path) == "missing"


def test_what_is_missing_is_one_line_with_model_size_and_remedy(tmp_path, monkeypatch):
    with pytest.raises(
        MissingWeights, match=r"^roberta-large \(1.4 GB\) is not in .*: expected a folder roberta"
    ):
        checkpoint("roberta-large", tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(weights, "_cached", lambda name: False)
    with pytest.raises(MissingWeights) as refused:
        checkpoint("roberta-large")
    said = str(refused.value)
    assert (
        "\n" not in said
        and "roberta-large (1.4 GB)" in said
        and "--weights FOLDER" in said
        and "OFFLINE" in said
    )
    assert whereabouts("roberta-large") == "missing"


def test_a_hub_that_cannot_be_reached_is_named(monkeypatch):
    def fail(self, name, **options):
        raise ConnectionError("refused")

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", fail)
    monkeypatch.setattr(weights, "_cached", lambda name: False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(
        MissingWeights,
        match=r"bart-large \(1.0 GB\) cannot be downloaded: the hub cannot be reached",
    ):
        checkpoint("facebook/bart-large")
    assert whereabouts("facebook/bart-large") == "to download"


def test_a_folder_of_ones_own_needs_a_configuration(tmp_path):
    with pytest.raises(MissingWeights, match="expected a folder of weights with config.json"):
        checkpoint(str(tmp_path))
    assert checkpoint(str(put(tmp_path / "mine", {"model_type": "any"}))).place == str(
        tmp_path / "mine"
    )
