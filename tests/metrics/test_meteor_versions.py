"""METEOR by hand on a WordNet of three words, and against the rows that papers print."""

import io
import os
import random
import zipfile
from types import SimpleNamespace

import pandas as pd
import pytest
from nltk.stem.porter import PorterStemmer
from nltk.translate import meteor_score

import nlgjudge as nj
from nlgjudge.data import wordnet as registered
from nlgjudge.metrics import meteor_versions as module
from nlgjudge.metrics.lexical import lexical_baselines
from nlgjudge.metrics.meteor_versions import MeteorMissing, meteor, meteor_missing, meteor_variants

NLTK = [v for v in module.VARIANTS if v.startswith("nltk")]


def items(*pairs):
    return pd.DataFrame(
        {
            "item_id": [f"i{n}" for n in range(len(pairs))],
            "hypothesis": [h for h, _ in pairs],
            "references": [[r] if isinstance(r, str) else r for _, r in pairs],
        }
    )


def one(hypothesis, reference, variant="nltk"):
    return meteor(items((hypothesis, reference)), variant)["score"].item()


@pytest.fixture
def files():
    """WordNet's files as Debian has them: car and auto are synonyms, like is a verb."""
    head = "  1 a licence stands here\n"
    found = {
        f"{kind}.{pos}": head
        for kind in ("data", "index")
        for pos in ("noun", "verb", "adj", "adv")
    }
    found |= {name: "" for name in ("noun.exc", "verb.exc", "adj.exc", "adv.exc", "cntlist.rev")}
    at = f"{len(head):08}"
    found["data.noun"] += f"{at} 06 n 02 car 0 auto 0 000 | a vehicle\n"
    found["index.noun"] += f"auto n 1 0 1 0 {at}\ncar n 1 0 1 0 {at}\n"
    found["data.verb"] += f"{at} 37 v 01 like 0 000 00 | find pleasing\n"
    found["index.verb"] += f"like v 1 0 1 0 {at}\n"
    return found


@pytest.fixture
def nowhere(tree, tmp_path, monkeypatch):
    """No WordNet: no registered file, no folder of NLTK's data, no Debian package."""
    tree.add("packages/corpora/none.zip", b"", "none", role="resource", to=None)
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk_data"))
    monkeypatch.setattr(registered, "DEBIAN", tmp_path / "debian")
    monkeypatch.setattr(registered.Path, "home", lambda: tmp_path)
    return tmp_path


def unpack(folder, files):
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def pack(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"wordnet/{name}", text)
    return packed.getvalue()


@pytest.fixture
def wordnet(nowhere, files, monkeypatch):
    """The small WordNet, unpacked in a folder of NLTK's data and accepted."""
    folder = unpack(nowhere / "nltk_data" / "corpora" / "wordnet", files)
    monkeypatch.setattr(registered, "UNPACKED", registered.digest(folder))
    return folder


def test_by_hand(wordnet):
    """Exact: the, sat, in; by stem: cats, cat; synonyms: car, auto. Five of six words, in two chunks."""
    expected = 5 / 6 * (1 - 0.5 * (2 / 5) ** 3)  # P = R = F = 5/6, and a penalty of 0.032: 0.8067
    for variant in NLTK:
        found = one("The cats sat in a car", "the cat sat in an auto", variant)
        assert found == pytest.approx(expected)


def test_recall_weighs_more_and_the_best_reference_counts(wordnet):
    # P 2/2, R 2/4: F = 0.5 / (0.9 + 0.05); one chunk of two matches: 1 - 0.5 / 8
    short = 0.5 / 0.95 * (1 - 0.5 * (1 / 2) ** 3)
    assert one("a b", "a b c d") == pytest.approx(short)
    assert one("a b", ["x y", "a b c d", "z"]) == pytest.approx(short)
    assert one("", "a b") == one("x", "a b") == 0


def test_words_counted_twice_before_nltk_3_6_3(wordnet):
    """The example and both values of nltk issue 2729 (0.655, and 0.809 before)."""
    pair = "I likes pizza", "I really like pizza"
    # P 3/3, R 3/4, two chunks; before, likes matched like twice: P 4/3, R 4/4, three chunks
    now, before = one(*pair), one(*pair, "nltk before 3.6.3")
    assert now == pytest.approx(0.75 / 0.975 * (1 - 0.5 * (2 / 3) ** 3))
    assert before == pytest.approx(4 / 3 / 1.3 * (1 - 0.5 * (3 / 4) ** 3))
    assert (round(now, 3), round(before, 3)) == (0.655, 0.809)


def test_words_are_cut_from_punctuation_on_request(wordnet):
    assert one("x.", "x .") == 0
    # X and the stop, one chunk of two.
    assert one("x.", "x .", "nltk, words") == pytest.approx(1 - 0.5 / 8)


def test_the_registered_archive_is_read_where_it_was_fetched(nowhere, files, tree):
    tree.add("packages/corpora/wordnet.zip", pack(files), "wordnet", role="resource")
    assert meteor_missing() == ""
    assert one("car", "auto") == 0.5  # P = R = 1, one chunk of one match


def test_the_registered_archive_is_read_in_nltks_data(nowhere, files, tree):
    folder = nowhere / "nltk_data" / "corpora"
    folder.mkdir(parents=True)
    tree.add("packages/corpora/wordnet.zip", pack(files), "wordnet", role="resource", to=None)
    (folder / "wordnet.zip").write_bytes(pack(files | {"adv.exc": "later earlier\n"}))
    assert "needs WordNet 3.0" in meteor_missing()  # another WordNet
    (folder / "wordnet.zip").write_bytes(pack(files))
    os.utime(folder / "wordnet.zip", ns=(1, 1))
    assert one("car", "auto") == 0.5


@pytest.mark.parametrize("place", ["nltk_data/corpora/wordnet", "debian", "beside the mirror"])
def test_an_unpacked_wordnet_is_verified_wherever_it_is(nowhere, files, place, monkeypatch):
    if place == "beside the mirror":
        monkeypatch.setenv("NLGJUDGE_MIRROR", str(nowhere / "copies" / "github"))
        place = "copies/nltk_data/corpora/wordnet"
    folder = unpack(nowhere / place, files)
    assert "needs WordNet 3.0" in meteor_missing()  # three words are not WordNet 3.0
    monkeypatch.setattr(registered, "UNPACKED", registered.digest(folder))
    registered._is_wordnet.cache_clear()
    assert one("car", "auto") == 0.5


def test_the_wordnet_of_this_machine_is_wordnet_3():
    """Where NLTK_DATA or the folder beside the mirror has it."""
    place = registered.find()
    if not place or place.is_file():
        pytest.skip("needs an unpacked WordNet")
    assert (place / "data.noun").stat().st_size == 15_300_280


def test_missing_wordnet_says_what_to_install(nowhere):
    with pytest.raises(MeteorMissing, match="needs WordNet 3.0.*nlgjudge data fetch wordnet"):
        one("a", "a")
    assert meteor_missing("nltk before 3.6.3") == meteor_missing()
    frame = lexical_baselines(items(("a b", "a b")))
    assert frame["meteor"].isna().all() and frame.attrs["missing"] == {"meteor": meteor_missing()}


def test_missing_meteor_15_says_what_to_install(wordnet, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MeteorMissing, match="pip install pycocoevalcap.*Java"):
        one("a", "a", "1.5")
    assert [variant for _, variant, _ in meteor_variants(items(("a", "a")))] == NLTK


def test_the_values_are_nltk_s_own(wordnet):
    """To the last digit, on few words that match in every way, with many ties; and those of before 3.6.3."""
    rng = random.Random(0)
    words = ["car", "Auto", "cars", "autos", "likes", "like", "liking", "the", "mat"]
    texts = [" ".join(rng.choices(words, k=rng.randrange(9))) for _ in range(400)]
    pairs = list(zip(texts, texts[1:]))
    stemmer = PorterStemmer()
    synsets = module._synsets(registered.find())
    reader = SimpleNamespace(synsets=synsets)
    theirs = []
    for hypothesis, reference in pairs:
        mine, other = hypothesis.split(), reference.split()
        now = meteor_score.single_meteor_score(other, mine, stemmer=stemmer, wordnet=reader)
        exact, left, right = meteor_score.exact_match(mine, other)
        left_words, right_words = [word for _, word in left], [word for _, word in right]
        matches = list(exact)
        for i, j in [
            *meteor_score.stem_match(left_words, right_words, stemmer=stemmer)[0],
            *meteor_score.wordnetsyn_match(left_words, right_words, wordnet=reader)[0],
        ]:
            matches.append((left[i][0], right[j][0]))
        matches.sort(key=lambda match: match[0])
        before = 0.0
        if matches:
            chunks = 1 + sum((i + 1, j + 1) != after for (i, j), after in zip(matches, matches[1:]))
            precision, recall = len(matches) / len(mine), len(matches) / len(other)
            penalty = 0.5 * (chunks / len(matches)) ** 3
            before = (1 - penalty) * precision * recall / (0.9 * precision + 0.1 * recall)
        theirs.append((now, before))
    assert module._nltk(pairs, "blanks") == theirs
    assert sum(now != before for now, before in theirs) > 50


def test_unknown_variant_and_missing_references(wordnet):
    with pytest.raises(ValueError, match="variant='java': expected one of .*1.5"):
        one("a", "a", "java")
    with pytest.raises(ValueError, match="1 items have no reference"):
        meteor(items(("a", "a"), ("b", [])))


@pytest.fixture
def cells(real, pytestconfig, monkeypatch):
    """Our values and the printed ones, for one row of a table, over the 300 responses of Topical-Chat."""

    def compare(paper, table, variant, names):
        if reason := meteor_missing(variant):
            pytest.skip(reason)
        chats = real("topical_chat")
        frame = chats.with_scores(meteor(chats.items, variant).rename(columns={"score": "ours"}))
        frame = frame[frame["system_id"] != "Original Ground Truth"]
        monkeypatch.setenv("NLGJUDGE_ROOT", str(pytestconfig.rootpath))
        printed = nj.published(paper, table).query(
            "row == 'METEOR' and dataset == 'topical_chat' and aspect != 'AVG'"
        )
        ours = []
        for c in printed.itertuples():
            aspect, how = names.get(c.aspect, c.aspect), {"level": c.level}
            found = nj.correlation(frame, "ours", aspect, coefficient=c.coefficient, **how)
            ours.append(found.value)
        return ours, printed["printed"].astype(float).tolist()

    return compare


@pytest.mark.parametrize("table, count", [("table2", 3), ("table4", 4), ("table13", 12)])
def test_meteor_row_of_coascore(cells, table, count):
    names = {"interest": "engagingness", "context": "coherence"}
    ours, printed = cells("coascore", table, "nltk before 3.6.3", names)
    assert len(ours) == count
    assert ours == pytest.approx(printed, abs=0.001)


@pytest.mark.parametrize("paper", ["geval", "geval_v1"])
def test_meteor_row_of_geval_table_2(cells, paper):
    ours, printed = cells(paper, "table2", "1.5", {})
    assert len(ours) == 8
    assert ours == pytest.approx(printed, abs=0.001)
