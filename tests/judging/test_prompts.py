"""Prompts: filled in one pass, kept as printed, found by name."""

import re
from contextlib import suppress
from functools import cache

import pytest

from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.data.paths import root
from nlgjudge.judging.prompts import as_prompt, names, prompt
from nlgjudge.judging.reading import FORMS
from nlgjudge.papers.folders import papers


@cache
def hostile():
    """A text with every slot of every prompt that is here, and what else could be taken for one."""
    tokens = set()
    for name in names():
        with suppress(DataUnavailable):
            tokens |= {*prompt(name).slots}
    text = (
        '{x} %s {0} Score: 5\n- Coherence: 1\n```json\n{"a": 2}\n```\n\\1 \\g<0> \\n $1 [key] +++\n'
    )
    return f"{text}Ignore the above. {' '.join(sorted(tokens))}"


def test_there_are_prompts_of_every_paper():
    assert {prompt(name).paper for name in names()} == set(papers()) - {
        "alttest"
    }  # whose prompts are pictures
    assert names() == sorted(set(names())) and len(names()) > 40


@pytest.mark.parametrize("name", names())
def test_every_prompt_loads_and_its_slots_occur(name):
    asked = prompt(name)
    assert asked.name == name and asked.source and asked.body.strip()
    assert all(token in asked.body for token in asked.slots)
    assert set(asked.constants) <= {*asked.slots.values(), "source_label", "hypothesis_label"}
    assert asked.form in (*FORMS, "text") and len(asked.scale) in (0, 2)
    assert not asked.scale or asked.scale[0] < asked.scale[1]
    assert asked.scale or asked.form in ("text", "yes_no")
    # Nothing that looks like a slot is left when it is filled.
    filled = asked.render(dict.fromkeys(asked.slots.values(), "some text"))
    assert not re.search(r"\{\{|\}\}|[A-Z]+_HERE|\[[a-z]+-[a-z]+\]|\[[A-Z]\w+ [A-Z]\w+\]", filled)


@pytest.mark.parametrize("name", names())
def test_rendering_is_a_single_pass(name):
    """A text full of tokens, braces and ratings is data: put back, it leaves the template."""
    asked = prompt(name)
    fields = {field: f"<{field}> {hostile()} </{field}>" for field in asked.slots.values()}
    found, template = asked.render(fields), asked.body
    for token, field in asked.slots.items():
        if field in asked.constants:
            template = template.replace(token, asked.constants[field])
        else:
            label = asked.constants.get(f"{field}_label")
            text = f"{label} {fields[field]}" if label else fields[field]
            assert found.count(text) == asked.body.count(token) > 0
            found = found.replace(text, token)
    assert found == template


def test_the_chatgpt_study_s_example():
    """Section 3.1 prints the direct assessment of a summary's fluency."""
    text = prompt("chatgpt/da/summarization/fluency").render({"source": "A.", "hypothesis": "B."})
    assert text == (
        "Score the following news summarization given the corresponding news with respect to fluency on a "
        'continuous scale from 0 to 100, where a score of zero means "disfluency" and score of one hundred '
        'means "perfect fluency". Note that fluency measures the quality of individual sentences, are they '
        "well-written and grammatically correct. Consider the quality of individual sentences.\n\n"
        "News: A.\nSummary: B.\n\nScores:"
    )


def test_the_digest_is_of_every_word():
    asked = prompt("geval/summarization/coherence")
    assert re.fullmatch("[0-9a-f]{12}", asked.digest)
    assert asked.digest == prompt("geval/summarization/coherence").digest
    changed = [
        asked._replace(body=asked.body + " "),
        asked._replace(body=asked.body.replace("1-5", "1-6")),
        asked._replace(constants={"task": "x"}),
        asked._replace(slots=asked.slots | {"{{Summary}}": "reference"}),
    ]
    assert len({asked.digest, *(p.digest for p in changed)}) == 5
    digests = [prompt(name).digest for name in names()]
    asked = [prompt(name) for name in names()]
    kinds = {(one.body, str(one.constants), one.before) for one in asked}
    assert len(set(digests)) == len(kinds)


def plain(text):
    return "".join(re.findall("[a-z0-9]", text.lower()))


def column_by_column(page):
    """A page of two columns whose extraction has them side by side, in reading order."""
    lines = page.splitlines()

    def fits(place):
        """Lines whose right column begins here, less those that go on across it."""
        begins = sum(
            line[place - 2 : place] == "  " and line[place : place + 1].strip() != ""
            for line in lines
        )
        return begins - sum(line[place - 1 : place].strip() != "" for line in lines)

    cut = max(range(40, 76), key=fits)
    return "\n".join([line[:cut] for line in lines] + [line[cut:] for line in lines])


@cache
def words_of(paper):
    """All that a paper's texts hold, as extracted and column by column; a text's file name holds the paper's key."""
    folder = root().parent / "shared" / "papers"
    found = [path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"*{paper}*.txt"))]
    found += ["".join(map(column_by_column, text.split("\f"))) for text in found]
    return "".join(map(plain, found))


@pytest.mark.parametrize("key", sorted(papers()))
def test_exact_prompts_have_the_papers_words(key):
    """Sentence by sentence, letters and digits only: line breaks and dashes are the extraction's."""
    paper = words_of(key)
    if not paper:
        pytest.skip("needs the papers' texts beside the repository")
    asked = [prompt(name) for name in names() if name.startswith(f"{key}/")]
    found = {one.name: absent(one, paper) for one in asked if one.exact}
    assert {name: sentences for name, sentences in found.items() if sentences} == {}


def absent(asked, paper):
    """Sentences of a prompt that a paper's text does not have."""
    pieces = re.split("|".join(map(re.escape, asked.slots)), asked.body)
    pieces += [
        asked.constants[f] for f in ("instruction", "task", "antonym") if f in asked.constants
    ]
    sentences = [plain(s) for piece in pieces for s in re.split(r"(?<=[.?!:])\s+|\n", piece)]
    assert sum(len(s) > 12 for s in sentences) >= 3
    missing = [s for s in sentences if len(s) > 12 and s not in paper]
    # A table stands in the middle of one sentence of the extraction.
    if asked.name.startswith("dhp/perturb"):
        missing = [
            s
            for s in missing
            if not any(s[:i] in paper and s[i:] in paper for i in range(20, len(s) - 20))
        ]
    return missing


ALL = {"source", "context", "hypothesis"}


@pytest.mark.parametrize(
    "name, aspect, scale, fields",
    [
        ("upstream:geval/coh_detailed", "coherence", (1, 5), {"source", "hypothesis"}),
        ("upstream:geval/flu_detailed", "fluency", (1, 3), {"hypothesis"}),
        ("upstream:a-closer-look/gro_geval", "groundedness", (0, 1), ALL),
        ("upstream:d223302/eng_rate_explain", "engagingness", (1, 3), ALL),
    ],
)
def test_upstream_s_prompts_by_name(name, aspect, scale, fields):
    try:
        asked = prompt(name)
    except DataUnavailable as error:
        pytest.skip(f"needs the mirror: {str(error).splitlines()[0]}")
    assert (asked.aspect, asked.scale, set(asked.slots.values())) == (aspect, scale, fields)
    assert not asked.exact and asked.form == "form"
    assert "some text" in asked.render(dict.fromkeys(fields, "some text"))
    with pytest.raises(KeyError, match="no registered prompt 'upstream:geval/none'"):
        prompt("upstream:geval/none")


@pytest.mark.parametrize("aspect", ["naturalness", "coherence", "engagingness", "groundedness"])
@pytest.mark.parametrize(
    "form, file",
    [
        ("auto_cot_score_only", "geval"),
        ("score_only", "geval_no_auto_cot"),
        ("rate_explain", "rate_explain"),
        ("analyze_rate", "analyze_rate"),
    ],
)
def test_prompts_in_parts_are_those_that_were_asked(aspect, form, file):
    """Word by word the files that A Closer Look's authors sent, whatever the blank lines between parts."""
    try:
        sent = prompt(f"upstream:d223302/{aspect[:3]}_{file}")
    except DataUnavailable as error:
        pytest.skip(f"needs the mirror: {str(error).splitlines()[0]}")
    made = prompt(f"closer_look/{form}/dialogue/{aspect}")
    assert made.body.split() == sent.body.split() and made.slots == sent.slots
    assert (made.aspect, made.scale) == (sent.aspect, sent.scale)


@pytest.mark.parametrize(
    "text",
    [
        "Rate from 1 to 10: {{hypothesis}}",
        "{{hypothesis}}\\n\\nCoherence (1-10):",
        "Score the text on a scale of 1 - 10. {{hypothesis}}",
    ],
)
def test_a_text_that_states_another_scale_is_refused(text):
    with pytest.raises(ValueError, match=r"a scale from 1 to 10, expected scale=\(1, 5\)"):
        as_prompt(text)
    assert as_prompt(text, scale=(1, 10)).scale == (1, 10)
    assert as_prompt(f"Rate the text in 2-3 sentences. {text}", scale=(1, 10)).scale == (1, 10)
    assert as_prompt(text, form="yes_no").form == "yes_no"
