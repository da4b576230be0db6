"""Cached scores: equal to computed ones, tied to their texts, and dropped when code, library or file changes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.metrics import cached, lexical, sentence_bleu

METRICS = {
    "rouge": nj.metrics.rouge,
    "rouge155": nj.metrics.rouge155,
    "bleu": nj.metrics.bleu,
}


@pytest.fixture
def texts():
    """Three hundred items of six words."""
    words = ["cat", "mat", "sat", "on", "the", "running."]
    drawn = np.random.default_rng(7).choice(words, size=(600, 6))
    lines = [" ".join(row) for row in drawn]
    names = [f"i{n}" for n in range(300)]
    references = [[line] for line in lines[300:]]
    return pd.DataFrame({"item_id": names, "hypothesis": lines[:300], "references": references})


@pytest.fixture
def computed(monkeypatch):
    """Texts that were computed and not read back."""
    found = []

    def watch(function):
        def watched(texts, *options):
            found.extend(texts)
            return function(texts, *options)

        watched.__module__, watched.__qualname__ = function.__module__, function.__qualname__
        return watched

    monkeypatch.setattr(lexical, "_score", watch(lexical._score))
    monkeypatch.setattr(sentence_bleu, "_counts", watch(sentence_bleu._counts))
    return found


def files(tree):
    return sorted((tree.cache / "lexical").glob("*.npz"))


@pytest.mark.parametrize("name", METRICS)
def test_values_read_back_are_the_computed_ones(tree, texts, name):
    first = METRICS[name](texts)
    pd.testing.assert_frame_equal(METRICS[name](texts), first, check_exact=True)
    shuffled = texts.sample(frac=1, random_state=0).reset_index(drop=True)
    by_item = first.set_index("item_id").loc[shuffled["item_id"]].reset_index()
    pd.testing.assert_frame_equal(METRICS[name](shuffled), by_item, check_exact=True)


@pytest.mark.parametrize("name", ["rouge", "bleu"])
def test_only_new_texts_are_computed(tree, texts, computed, name):
    first = METRICS[name](texts)
    computed.clear()
    renamed = texts.assign(item_id=texts["item_id"] + "x")  # the texts decide, not their names
    assert METRICS[name](renamed).iloc[:, -1].tolist() == first.iloc[:, -1].tolist()
    assert not computed
    changed = texts.assign(hypothesis=["the", *texts["hypothesis"][1:]])
    assert METRICS[name](changed).iloc[1:, -1].tolist() == first.iloc[1:, -1].tolist()
    assert {hypothesis for hypothesis, _ in computed} == {"the"}


def cut(content):
    return content[: len(content) // 2]


def flip(content):
    """One bit of the last value, which is followed by the checksums of zip alone."""
    place = content.index(b"values.npy") + 400
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize(
    "damage", [cut, flip, lambda content: b"", lambda content: b"not an array"]
)
def test_a_damaged_file_is_computed_again(tree, texts, damage):
    first = nj.metrics.bleu(texts)
    (file,) = files(tree)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    pd.testing.assert_frame_equal(nj.metrics.bleu(texts), first, check_exact=True)
    assert file.read_bytes() == whole


def test_options_and_library_versions_have_files_of_their_own(tree, texts, monkeypatch):
    for stemmer in lexical.STEMMERS:
        for split in lexical.SPLITS:
            lexical.rouge(texts.head(3), stemmer=stemmer, split=split)
    assert len(files(tree)) == 3 * (1 + 3)  # n-grams, and ROUGE-L in three splits
    nj.metrics.bleu(texts.head(3))
    monkeypatch.setattr(cached, "version", lambda name: "0.0.1")
    nj.metrics.bleu(texts.head(3))
    assert len(files(tree)) == 3 * (1 + 3) + 2


SCORE = """
import pandas as pd
import nlgjudge as nj
items = pd.DataFrame({"item_id": ["i"], "hypothesis": ["the cat sat"], "references": [["the cat lay down"]]})
print(nj.metrics.rouge(items).loc[0, "rouge1-r"], nj.metrics.rouge155(items).loc[0, "rouge1-r"])
"""


def test_after_a_bug_is_fixed_no_wrong_score_remains(tree, tmp_path):
    """Two of four words match. The bug takes one word for each text."""
    package = tmp_path / "src" / "nlgjudge"
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(nj.__file__).parent, package, ignore=skipped)
    module = package / "metrics" / "lexical.py"
    right = module.read_text(encoding="utf-8")
    wrong = right.replace("tokenize=cache(tokenize)", "tokenize=lambda text: ['the']")
    assert wrong != right

    def scored(source):
        module.write_text(source, encoding="utf-8")
        found = subprocess.run(
            [sys.executable, "-B", "-c", SCORE],
            env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
            capture_output=True,
            text=True,
            check=True,
        )
        return found.stdout.split()

    assert scored(right) == ["0.5", "0.5"]
    assert scored(wrong) == ["1.0", "1.0"]  # a warm cache does not hide the bug
    assert scored(right) == ["0.5", "0.5"]


SLOWLY = """
import time
from pathlib import Path


def slow(texts):
    with (Path(__file__).parent / "log").open("a") as log:
        print("computed", file=log)
    time.sleep(1)
    return [1.0] * len(texts)
"""
CALL = """
import slowly
from nlgjudge.metrics import cached
print(cached.scores(slowly.slow, ["a", "b"]).tolist())
"""


def test_two_processes_compute_the_same_scores_once(tree, tmp_path):
    (tmp_path / "slowly.py").write_text(SLOWLY, encoding="utf-8")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CALL],
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    assert [process.communicate()[0] for process in started] == ["[1.0, 1.0]\n"] * 3
    assert (tmp_path / "log").read_text() == "computed\n"
