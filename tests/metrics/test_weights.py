"""Weights are found in a folder or the hub's cache, and refused where they are another model's."""

import json

import pytest

from nlgjudge.metrics.weights import checkpoint, size

BASE = {"model_type": "bart", "encoder_layers": 6, "d_model": 768}


def put(folder, config=BASE):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").touch()
    return folder


@pytest.mark.parametrize("place", ["bart-base", "facebook/bart-base", "facebook--bart-base"])
def test_a_model_is_found_by_its_last_or_its_whole_name(tmp_path, place):
    made = put(tmp_path / place)
    assert checkpoint("facebook/bart-base", tmp_path) == (str(made), "")
    assert checkpoint("facebook/bart-large", tmp_path) is None
    assert checkpoint(str(made)) == (str(made), "")


def test_parameters_beside_the_weights(tmp_path):
    put(tmp_path / "bart-base")
    assert checkpoint("facebook/bart-base", tmp_path, "bart_score.pth") is None
    (tmp_path / "bart_score.pth").touch()
    found = checkpoint("facebook/bart-base", tmp_path, "bart_score.pth")
    assert found.parameters == str(tmp_path / "bart_score.pth")


@pytest.mark.parametrize(
    "changed", [{"d_model": 1024}, {"encoder_layers": 12}, {"model_type": "t5"}]
)
def test_another_model_under_the_name_is_refused(tmp_path, changed):
    put(tmp_path / "bart-base", BASE | changed)
    expected = "is not facebook/bart-base: expected bart of 6 layers and width 768, got"
    with pytest.raises(ValueError, match=expected):
        checkpoint("facebook/bart-base", tmp_path)


def test_a_folder_without_weights_is_not_a_model(tmp_path):
    (put(tmp_path / "bart-base") / "model.safetensors").unlink()
    assert checkpoint("facebook/bart-base", tmp_path) is None


def test_the_hubs_cache_is_read_and_nothing_is_downloaded(tmp_path, monkeypatch):
    pytest.importorskip("huggingface_hub", reason="needs the extra neural")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert checkpoint("facebook/bart-base") is None
    home = tmp_path / "models--facebook--bart-base"
    made = put(home / "snapshots" / "c0ffee")
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("c0ffee")
    assert checkpoint("facebook/bart-base") == (str(made), "")


def test_sizes():
    assert size("facebook/bart-large-cnn") == "1.6 GB"
