"""The judges' table, and the same results in the schema of Every Eval Ever."""

import json
import runpy
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data.paths import root


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    export = runpy.run_path(str(root() / "site" / "every_eval_ever.py"))["export"]
    return {path: json.loads(path.read_text(encoding="utf-8")) for path in export(folder)}


def test_the_records_follow_the_published_schema(records):
    home = find_spec("every_eval_ever")
    if home is None:
        pytest.skip("needs every-eval-ever: make served")
    path = Path(home.submodule_search_locations[0]) / "schemas" / "eval.schema.json"
    validator = jsonschema.Draft7Validator(json.loads(path.read_text(encoding="utf-8")))
    for path, record in records.items():
        assert [error.message for error in validator.iter_errors(record)] == [], path


def test_a_record_has_a_judges_values_intervals_and_sources(records):
    """Table 2 of LLMBar, GPT-4 with metrics and a reference: 82.8 on the Adversarial sets."""
    (record,) = [one for one in records.values() if one["model_info"]["name"] == "gpt-4-0613"]
    assert record["model_info"]["id"] == "openai/gpt-4-0613"
    results = {one["evaluation_result_id"]: one for one in record["evaluation_results"]}
    assert len(results) == len(record["evaluation_results"])
    name = "adversarial/AVG/pair/accuracy/llmbar/metrics_reference/the paper's own"
    best = results[name]
    assert round(best["score_details"]["score"], 3) == 0.828
    interval = best["score_details"]["uncertainty"]["confidence_interval"]
    assert interval["lower"] < 0.828 < interval["upper"]
    assert best["source_data"]["url"] == ["https://github.com/princeton-nlp/LLMBar"]


def test_a_value_that_rests_on_a_wrong_reading_says_so(records):
    (record,) = [one for one in records.values() if one["model_info"]["name"] == "text-bison-001"]
    known = [one["generation_config"]["additional_details"] for one in record["evaluation_results"]]
    notes = [one.get("note", "") for one in known if one["prompt"] == "llmbar/cot"]
    assert notes and all("which they do not follow" in note for note in notes)


def test_a_value_that_is_only_published_is_in_the_table_and_not_exported(records):
    judges = nj.ledger.judges()
    published = judges[judges["kind"] == "published, not checkable"]
    assert published["ci_low"].isna().all() and len(published)
    kinds = {
        result["generation_config"]["additional_details"]["kind"]
        for record in records.values()
        for result in record["evaluation_results"]
    }
    assert kinds <= {"the paper's own", "recorded by others", "kept rerun"}
    assert judges["value"].notna().all() and not judges.duplicated().any()


def test_judges_of_others_have_their_prompt_replies_and_year():
    found = nj.ledger.judges().query("judge == 'gpt-4-0314' and benchmark == 'summeval'")
    assert set(found["kind"]) == {"recorded by others"} and set(found["date"]) == {"2023"}
    assert set(found["source"]) == {"Shen et al. 2023"} and found["replies"].notna().all()
    assert pd.to_numeric(found["value"]).between(-1, 1).all()


def test_the_cost_of_a_prompt_is_that_of_a_reruns_plan():
    """Each rating of LLMBar's metrics takes one and a half requests: the metrics are asked for once a pair."""
    row, price = "GPT-4, Metrics*", (1, 2)
    how = {"source": "real", "limit": 20, "price": price, "plan_only": True}
    plan = nj.rerun("llmbar", "table2", {row: ""}, **how).plan.query("dataset == 'natural'")
    assert plan["ratings"].tolist() == [40] and plan["requests"].tolist() == [60]
    known = nj.ledger.judges({"gpt-4-0613": price})
    assert known.loc[known["judge"] != "gpt-4-0613", "cost"].isna().all()
    known = known.query("prompt == 'llmbar/metrics' and judge == 'gpt-4-0613'").set_index(
        "benchmark"
    )
    each = 1000 * plan["cost"].item() / plan["ratings"].item()
    assert known.loc["natural", "cost"].unique() == pytest.approx([each], rel=1e-3)
    sets = [known.loc[name, "cost"].iloc[0] for name in ("neighbor", "gptinst", "gptout", "manual")]
    assert known.loc["adversarial", "cost"].unique() == pytest.approx([sum(sets) / 4])
    assert nj.ledger.judges()["cost"].isna().all()
    with pytest.raises(ValueError, match="no judge 'gpt-4'"):
        nj.ledger.judges({"gpt-4": price})
