"""What `new` does: a fresh notebook of an ablation from its template."""

import re

# A tag of the template's cells that state what came out of its own change.
TEMPLATE_ONLY = "template-only"
_QUESTION = "Say here in one sentence what you change, and why it should matter."
_VERDICT = """**What does not hold:** say it here once the notebook has run; it comes before what does.

**What holds:** the section on the agreement with people has it in sentences."""


def new(kind, name):
    """Write a fresh notebook from a template.

    Parameters
    ----------
    kind : str
        `ablation`, the only template there is.
    name : str
        As ``my_idea``, for `notebooks/ablation_my_idea.ipynb`.

    Raises
    ------
    ValueError
        For a name with other characters than lower-case letters, digits and _.
    FileExistsError
        When there is such a notebook already.
    """
    import nbformat

    from nlgjudge.data.paths import root

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(f"name {name!r}: expected lower-case letters, digits and _, as my_idea")
    path = root() / "notebooks" / f"{kind}_{name}.ipynb"
    if path.exists():
        raise FileExistsError(f"{path} is there already: choose another name, or delete it")
    notebook = nbformat.read(root() / "notebooks" / f"template_{kind}.ipynb", as_version=4)
    nbformat.write(_emptied(notebook, path.stem), path)
    print(f"{path}: set `change` in its parameters cell and say in the text what you ask")


def _emptied(notebook, name):
    """The template without what is true of its own change alone: title, question, findings, outputs."""
    from nbformat.v4 import new_markdown_cell

    notebook.metadata["nlgjudge"].pop("data", None)  # of the template's outputs
    notebook.cells = [
        cell for cell in notebook.cells if TEMPLATE_ONLY not in cell.metadata.get("tags", [])
    ]
    needs = notebook.cells[0].source.rpartition("\n\n")[2]  # the last paragraph: data and time
    idea = name.removeprefix("ablation_").replace("_", " ")
    notebook.cells[0].source = f"# Ablation: {idea}\n\n{_QUESTION}\n\n{needs}"
    notebook.cells.insert(1, new_markdown_cell(_VERDICT))
    for number, cell in enumerate(notebook.cells):
        cell.source = cell.source.replace("template_ablation", name)
        cell.id = f"{name.replace('_', '-')}-{number:02d}"[:64]
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    return notebook
