"""What a reader, a run and the site rely on in every notebook."""

import ast
import re
from itertools import chain

import nbformat
import pytest

import nlgjudge as nj
from nlgjudge import workflow
from nlgjudge.data.paths import root
from nlgjudge.ledger.printed import published, tables
from prose_numbers import shown, unshown

NOTEBOOKS = sorted((root() / "notebooks").glob("*.ipynb"))
DECIMAL = re.compile(r"(?<![\w.])[-−]?(\d*\.\d{3,})(?![\w.]*\d)")


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    """Read once for all rules, which change nothing in it."""
    return nbformat.read(request.param, as_version=4)


@pytest.fixture(scope="module")
def printed():
    """Printed magnitudes; below 0.01 a number in a notebook is a tolerance, not a quotation.

    Shares of pairs are printed in percent, with one decimal.
    """
    correlations = published().query("level != 'pair'")["value"].dropna()
    return {abs(v) for v in correlations if abs(v) >= 0.01}


def of(notebook, kind):
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def tree(cell):
    return ast.parse(re.sub(r"^\s*[%!].*$", "", cell.source, flags=re.M))


def published_numbers(text, printed):
    return [m.group() for m in DECIMAL.finditer(text) if float(m.group(1)) in printed]


def texts(output):
    """Visible text of an output: streams, plain text, and HTML without its tags."""
    yield output.get("text", "")
    data = output.get("data", {})
    yield data.get("text/plain", "")
    yield re.sub(r"<style.*?</style>|<[^>]*>", " ", data.get("text/html", ""), flags=re.S)
    yield data.get("text/markdown", "")


def parameters_cell(notebook):
    (cell,) = [c for c in of(notebook, "code") if "parameters" in c.metadata.get("tags", [])]
    return cell


def parameters(notebook):
    """Value and line of each parameter, by its name."""
    cell = parameters_cell(notebook)
    lines = cell.source.splitlines()
    return {
        node.targets[0].id: (node.value, lines[node.lineno - 1])
        for node in tree(cell).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def test_one_cell_holds_commented_parameters(notebook):
    cell = parameters_cell(notebook)
    assert all(isinstance(node, (ast.Assign, ast.AnnAssign)) for node in tree(cell).body)
    assert all("#" in line for line in cell.source.splitlines() if line.strip())


def test_a_limit_means_the_same_everywhere(notebook):
    """A number of at least 0; 0 takes all, and the comment says so."""
    if "limit" in parameters(notebook):
        value, line = parameters(notebook)["limit"]
        assert isinstance(ast.literal_eval(value), int), line
        assert "0 for all" in line


def depending_on(notebook, parameter):
    """Asserts of a notebook whose condition rests on a parameter, through any assignment, loop or call."""
    names = {parameter}
    asserts = []
    for cell in of(notebook, "code"):
        if "parameters" in cell.metadata.get("tags", []):
            continue
        nodes = [*ast.walk(tree(cell))]
        pairs = [pair for node in nodes for pair in passed_on(node)]
        before = 0
        while len(names) > before:  # a loop's body may come back to its head
            before = len(names)
            for source, target in pairs:
                if used(source) & names:
                    names |= used(target)
        tests = [node.test for node in nodes if isinstance(node, ast.Assert)]
        asserts += [ast.unparse(test) for test in tests if used(test) & names]
    return asserts


def passed_on(node):
    """Pairs of what a piece of code reads and where it puts it."""
    if isinstance(node, ast.Assign):
        yield from ((node.value, target) for target in node.targets)
    if isinstance(node, ast.AugAssign):
        yield node.value, node.target
    if isinstance(node, (ast.For, ast.comprehension)):
        yield node.iter, node.target
    if isinstance(node, ast.For):
        # What a loop makes depends on what it runs over, whether or not it is read there.
        yield from ((node.iter, target) for part in node.body for target in made(part))
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):  # as rows.append(...)
        yield call, call.func.value


def made(node):
    for part in ast.walk(node):
        if isinstance(part, ast.Assign):
            yield from part.targets


def used(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


# Asserts that a judge's numbers pass through and cannot decide: counts, and rows of other evaluators.
UNDECIDED = {
    "chats.is_sample or counts['UniEval', 'relabelled'] == 10",  # of UniEval's released scores
    "len(table) >= 2 * len(scores) and table['value'].dropna().ge(0).all()",  # D is at least 0 by definition
    # Replies that the notebook holds itself, under a name that other replies had before.
    "len(table) == len(replies) and (table['read as'].isna() == (table['reason'] != '')).all()",
    # The same ratings, by the package and by hand.
    "np.allclose(by_hand.where(expected.notna()), expected, equal_nan=True)",
    # A simulated judge, whose ratings are planted.
    "np.allclose(table['distance from equation 1, points'], expected, rtol=0.2)",
}


def test_no_assert_rests_on_what_a_judge_says(notebook):
    """A run with a live judge is paid for; it must not die because the judge saw things otherwise."""
    for name in {"judge", "judges"} & parameters(notebook).keys():
        assert set(depending_on(notebook, name)) <= UNDECIDED


@pytest.mark.parametrize(
    "code, found",
    [
        ("scores = ask(judge)\nassert scores.mean() > 3", ["scores.mean() > 3"]),
        ("for s in ask(judge):\n    best = max(s)\nassert best", ["best"]),
        ("scores = ask('surface')\nassert scores.mean() > 3", []),
        ("rows = {}\nfor s in ask(judge):\n    rows[s] = 1\nassert rows", ["rows"]),
    ],
)
def test_the_search_for_asserts_about_a_judge(code, found):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    assert depending_on(made, "judge") == found


def test_tags_are_those_that_papermill_nbval_and_the_site_read(notebook):
    tags = {tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])}
    assert tags <= {"parameters", "nbval-ignore-output", "hide-input"}


def test_every_figure_has_alt_text(notebook):
    """The site takes it from the cell's metadata, other pages from the output's."""
    for cell in of(notebook, "code"):
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
                assert len(alt.split()) >= 8, cell.source[-200:]
                assert output.metadata["image/png"]["alt"] == alt


def test_every_figure_is_checked(notebook):
    """Saving a figure refuses hidden data and empty panels; a figure that is not saved has its own check.

    A finding's figure was saved so.
    """
    shown = [
        cell
        for cell in of(notebook, "code")
        if any("image/png" in output.get("data", {}) for output in cell.outputs)
    ]
    checked = r"figures\.(save|overview)\(|(table|result|run|report)\.figure\(|^finding\.(figure$|write\(figure)"
    assert all(re.search(checked, cell.source, re.M) for cell in shown)


FINDINGS = sorted(path.stem for path in (root() / "paper_tables" / "findings").glob("*.csv"))


@pytest.mark.parametrize("name", FINDINGS)
def test_a_finding_is_what_the_first_code_cell_shows(name):
    """It is that of the committed file; the last cells have its sentences, check it and write it.

    Only the page of a user's own data has its parameters above, because it answers for them. A notebook that begins
    with a published table shows its finding next.
    """
    notebook = nbformat.read(root() / "notebooks" / f"{name}.ipynb", as_version=4)
    first, *others = of(notebook, "code")[name == "your_own_data" :]
    if "table = nj.Table(" in first.source:
        first, *others = others
    assert f'finding = nj.Finding("{name}")' in first.source
    (shown,) = first.outputs
    assert shown["data"]["text/markdown"] == nj.Finding(name)._repr_mimebundle_()["text/markdown"]
    assert [cell for cell in others if f'finding = nj.Finding("{name}", ' in cell.source]
    assert [cell for cell in others if "finding.check(" in cell.source]
    assert [cell for cell in others if "finding.write(" in cell.source]


ARTEFACTS = {}
for paper, artefact in tables():
    ARTEFACTS.setdefault(nj.paper(paper).artefacts[artefact].notebook, set()).add(artefact)


@pytest.mark.parametrize("name", ARTEFACTS)
def test_a_notebook_of_tables_begins_with_them(name):
    """Claim, verdict and cells of the first output are those of the committed ledger."""
    notebook = nbformat.read(root() / "notebooks" / f"{name}.ipynb", as_version=4)
    first = of(notebook, "code")[0]
    made = {}
    exec(first.source, made)
    (shown,) = first.outputs
    assert shown["data"]["text/html"] == made["table"]._repr_html_()
    assert made["table"].notebook == name and ARTEFACTS[name] <= {*made["table"].artefacts}


def test_nothing_is_folded_in_a_notebook_that_answers_first(notebook, request):
    """Of two long pages, in which readers look up a paper or a judge, the site folds code."""
    first = of(notebook, "code")[0].source
    looked_up = request.node.callspec.params["notebook"].stem in ("01_papers", "judges_by_paper")
    if re.search(r"nj\.(Table|Finding)\(", first) and not looked_up:
        folded = [cell for cell in notebook.cells if "hide-input" in cell.metadata.get("tags", [])]
        assert not folded + [cell for cell in notebook.cells if cell.metadata.get("jupyter")]


def test_a_notebook_imports_the_package_alone(notebook):
    """What it needs is a public name: `nj.X`, or `nj.NAMESPACE.X`."""
    code = "\n".join(cell.source for cell in of(notebook, "code"))
    imported = re.findall(r"^\s*(?:from|import) nlgjudge\b.*", code, re.M)
    assert {line.strip() for line in imported} <= {"import nlgjudge as nj"}


def test_no_notebook_reads_the_outputs_of_another(notebook):
    """The index reads the ledger and the findings."""
    assert not [cell for cell in of(notebook, "code") if "nbformat" in cell.source]


def code_lines(cell):
    lines = [line.strip() for line in cell.source.splitlines()]
    return sum(bool(line) and not line.startswith("#") for line in lines)


def test_a_notebook_is_short_and_its_title_asks(notebook, request):
    assert len(notebook.cells) <= 45
    assert "?" in notebook.cells[0].source.splitlines()[0]
    if request.node.callspec.params["notebook"].stem == "your_own_data":
        return  # a program with a form: the page asks, and its code answers for any data
    counts = [code_lines(cell) for cell in of(notebook, "code")]
    assert sum(counts) <= 250 and max(counts) <= 25


def test_no_sentence_is_about_another_run(notebook):
    """It is printed from this run's values instead."""
    assert not [cell for cell in notebook.cells if "committed run" in cell.source]


def test_every_figure_of_the_repository_is_shown():
    """By the notebook of its name, or by a page that names it."""
    pages = [*NOTEBOOKS, root() / "README.md", *(root() / "site").rglob("*.md")]
    named = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    stems = {path.stem for path in (root() / "figures").glob("*.png")}
    of_notebooks = {path.stem for path in NOTEBOOKS}
    assert [stem for stem in sorted(stems - of_notebooks) if stem not in named] == []


def test_the_last_code_cell_signs(notebook):
    last = of(notebook, "code")[-1]
    assert notebook.cells.index(last) >= len(notebook.cells) - 2  # a source line may follow
    called = [n.func for n in ast.walk(tree(last)) if isinstance(n, ast.Call)]
    assert "signature" in {getattr(f, "attr", getattr(f, "id", "")) for f in called}


def test_no_published_number_is_typed(notebook, printed):
    typed = [n for cell in notebook.cells for n in published_numbers(cell.source, printed)]
    assert not typed, "take them from published() instead"


@pytest.mark.parametrize(
    "text, found",
    [
        ("Spearman 0.014 of ROUGE-1", ["0.014"]),
        ("loses by .014.", [".014"]),
        ("x = -0.071", ["-0.071"]),
        ("minus −0.071", ["−0.071"]),
        ("0.0140", ["0.0140"]),
        ("0.01", []),
        ("1.0.014", []),
        ("0.01401", []),
    ],
)
def test_the_search_for_published_numbers(text, found, printed):
    assert published_numbers(text, printed) == found


def test_outputs_are_committed_from_real_data(notebook, request):
    codes = of(notebook, "code")
    assert codes[-1].outputs, "run `make refresh`"
    outputs = [output for cell in codes for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    declared = notebook.metadata["nlgjudge"]
    # A notebook without a benchmark shows the sample on purpose.
    if declared["benchmarks"]:
        assert not [text for output in outputs for text in texts(output) if "sample data" in text]
    name = request.node.callspec.params["notebook"].stem
    sources = declared.get("data", {})
    assert sources.keys() == {*workflow.needs(name)}
    required = sources.keys() - {*workflow.optional(name)}
    assert all(sources[need][0] == "real" for need in required)


def test_no_table_is_cut_short(notebook):
    """pandas leaves out the middle of a large table, and says below it how large it is."""
    outputs = [output for cell in of(notebook, "code") for output in cell.outputs]
    visible = [text for output in outputs for text in texts(output)]
    assert not [text for text in visible if re.search(r"\d rows [x×] \d", text)]


# Facts of the papers and data, not results: SummEval's articles, systems and summaries, the systems that a judge
# rated, Topical-Chat's responses of models, the scale from 0 to 100, and DHP's twelve models.
SIZES = {"100", "16", "1600", "12", "300"}


def test_prose_states_no_number_that_nothing_shows(notebook, request):
    paper = request.node.callspec.params["notebook"].stem.split("_")[0]
    printed = (root() / "paper_tables" / "published").glob(f"{paper}_*.csv")
    texts_of_tables = (path.read_text(encoding="utf-8").replace(",", " ") for path in printed)
    numbers = SIZES.union(*map(shown, texts_of_tables))
    assert unshown(notebook.cells, lambda c: " ".join(chain(*map(texts, c.outputs))), numbers) == []


@pytest.mark.parametrize(
    "prose, found",
    [
        ("It rises from 0.67 to 0.93.", [".67"]),
        ("It wins in 97% of 1,600 cases and nine of twelve.", ["12"]),
        (
            "`0.67`, $0.67$, [Table 67](t_67.ipynb), section 6.7, Tables 66 and 67, Liu et al. 1967, gpt-6.7-turbo",
            [],
        ),
        ('The paper says "more than 67 of them".', []),
        ("Two forms, four aspects and seven judges.", ["7"]),
    ],
)
def test_the_search_for_numbers_that_nothing_shows(prose, found):
    output = nbformat.v4.new_output("stream", text="0.932, share 0.97, 1600 cases, 9 wins")
    cells = [nbformat.v4.new_markdown_cell(prose), nbformat.v4.new_code_cell("6", outputs=[output])]
    assert [number for number, _ in unshown(cells, lambda cell: cell.outputs[0].text)] == found
