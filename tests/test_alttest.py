"""The alternative annotator test's sets and tables: Tables 2 and 5 (ACL 2025), and what its labels are."""

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.papers.alttest import SETS


@pytest.mark.parametrize("name", ["wax", "mt_bench", "framing", "10k_prompts"])
def test_rates_and_advantages_are_those_of_table_2(real, name):
    data, of = real(f"alttest_{name}"), SETS[name]
    printed = nj.published("alttest", "table2").query("dataset == @name and level == 'rater'")
    printed = printed.set_index(["row", "coefficient"])["value"]
    people = data.ratings.assign(key=data.ratings["item_id"] + data.ratings["aspect"])
    judges = data.scores.assign(key=data.scores["item_id"] + data.scores["aspect"])
    similarity = "accuracy" if of.labels else "rmse"
    for judge, answers in judges.groupby("metric"):
        found = nj.stats.alternative_annotator_test(
            people, answers, epsilon=of.epsilon, keys=["key"], similarity=similarity
        )
        assert found.winning_rate == pytest.approx(printed[judge, "winning_rate"], abs=0.0051)
        assert found.advantage == pytest.approx(printed[judge, "advantage"], abs=0.0051)


def test_labels_are_labels_with_those_that_only_judges_use(real):
    wax = real("alttest_wax")
    scale = wax.scale("overall")
    assert scale.kind == "unordered" and "None-of-the-above" in scale.names
    nothing = scale.words["none-of-the-above"]
    assert not (wax.ratings["score"] == nothing).any() and (wax.scores["score"] == nothing).any()
    assert set(wax.human()["overall"].dropna()) <= set(scale.values)  # a majority, never a mean
    lesion = real("alttest_lesion")
    assert not any(lesion.scale(aspect).names for aspect in lesion.aspects)
    assert np.isclose(lesion.human()["color"] % 1, 0).mean() < 0.5


def test_what_a_cell_needs_goes_by_its_dataset():
    needs = nj.Table("alttest", ["table2"]).cells.query("verdict == 'not_run'")
    by_set = needs.groupby(needs["dataset"] == "kilogram")["note"].unique()
    assert "embedding model" in by_set[True][0]


def test_a_table_of_many_columns_stands_on_its_side():
    shown = repr(nj.Table("alttest", ["table2"]))
    head = next(line for line in shown.splitlines() if "GPT-4o-mini" in line)
    assert "Mistral-v3" in head


@pytest.fixture
def answered(real):
    """Two sets, and the answers of a judge to all of their questions, in the words of the released files."""
    sets = {name: real(f"alttest_{name}") for name in ("wax", "lesion")}
    parts = []
    for name, data in sets.items():
        given = data.scores[data.scores["metric"] == "GPT-4o"].assign(dataset=name)
        scale = data.scale(data.aspects[0])
        words = given["score"].map(scale.name) if scale.names else given["score"].astype(str)
        parts.append(given.assign(score=words)[["dataset", "item_id", "aspect", "score"]])
    return sets, pd.concat(parts, ignore_index=True)


def test_own_answers_are_read_as_the_released_ones(answered, tmp_path):
    sets, answers = answered
    answers.to_csv(tmp_path / "mine.csv", index=False)
    found = nj.alttest.own_answers(tmp_path / "mine.csv", sets)
    released = pd.concat([data.scores.assign(dataset=name) for name, data in sets.items()])
    both = found.merge(released.query("metric == 'GPT-4o'"), on=["dataset", "item_id", "aspect"])
    assert len(both) == len(answers) and (both["score_x"] == both["score_y"]).all()


@pytest.mark.parametrize(
    "column, value, said",
    [
        ("score", "Synonymous", "line 2: 'Synonymous' for overall; expected one of .*Synonym"),
        ("item_id", "nobody/text", "line 2: 'nobody/text' .* an item of wax, as "),
        ("aspect", "colour", "no question of wax 'colour'"),
        ("dataset", "WAX", "no dataset 'WAX'"),
        ("score", "7", "'7' for overall"),
    ],
)
def test_an_answer_that_cannot_be_one_is_refused(answered, tmp_path, column, value, said):
    sets, answers = answered
    answers.loc[0, column] = value
    answers.to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(ValueError, match=said):
        nj.alttest.own_answers(tmp_path / "mine.csv", sets)


def test_a_file_of_other_columns_grades_or_questions_is_refused(answered, tmp_path):
    sets, answers = answered
    graded = answers["aspect"].eq("asymmetry")
    for said, wrong in {
        "expected lines of dataset, item_id, aspect, score": answers.drop(columns="aspect"),
        "got 0 lines": answers.head(0),
        "'6' for asymmetry; expected 0 to ": answers.assign(
            score=answers["score"].mask(graded, "6")
        ),
        "no answers to asymmetry of lesion": answers[~graded],
    }.items():
        wrong.to_csv(tmp_path / "mine.csv", index=False)
        with pytest.raises(ValueError, match=said):
            nj.alttest.own_answers(tmp_path / "mine.csv", sets)
