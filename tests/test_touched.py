"""`make check` finds what a change can touch, the nearest first."""

import touched


def test_the_tests_of_a_module_come_first_and_then_those_that_use_it():
    found = [
        test.name
        for test in touched.nearest_tests(
            ["src/nlgjudge/stats/weighted.py"], touched.public_names()
        )
    ]
    assert found[0] == "test_weighted.py"
    assert found.index("test_bootstrap.py") < found.index(
        "test_workflow.py"
    )  # through resampling, through all else
    assert "test_parsing.py" not in found


def test_a_name_behind_the_package_leads_to_its_module():
    names = touched.public_names()
    assert names["dhp.expert_weights"] == "nlgjudge.papers.dhp.expert_survey"
    test = touched.ROOT / "tests" / "papers" / "test_expert_survey.py"
    assert "nlgjudge.papers.dhp.expert_survey" in touched.uses(test, names)


def test_a_changed_test_is_run_and_nothing_else():
    found = touched.nearest_tests(["tests/stats/test_weighted.py"], touched.public_names())
    assert [test.name for test in found] == ["test_weighted.py"]
    assert touched.nearest_notebooks(["CHANGELOG.md"]) == []
