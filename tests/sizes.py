"""Print how large each package is: statements, code lines and public names (`make sizes`).

A code line has a token that belongs to no comment and no docstring; of a TOML file it is a line that is no comment.
All Pythons count alike. Names that are modules are no public names.
"""

import ast
import io
import tokenize
from inspect import ismodule
from pathlib import Path

import nlgjudge

CHECKOUT = Path(__file__).resolve().parents[1]
NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def size_of(text):
    """Statements and code lines of a Python file."""
    nodes = [*ast.walk(ast.parse(text))]
    docstrings = [
        node.body[0] for node in nodes if isinstance(node, DOCUMENTED) and ast.get_docstring(node)
    ]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = [token for token in tokens if token.type not in NO_CODE]
    lines = {line for token in code for line in range(token.start[0], token.end[0] + 1)}
    for one in docstrings:
        lines -= {*range(one.lineno, one.end_lineno + 1)}
    return sum(isinstance(node, ast.stmt) for node in nodes) - len(docstrings), len(lines)


def toml_lines(text):
    lines = (line.strip() for line in text.splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


def names_of(space):
    """Number of a namespace's names, those of the namespaces in it included; a module's own are not listed."""
    values = [getattr(space, name) for name in getattr(space, "__all__", ())]
    return sum(names_of(one) if hasattr(one, "__path__") else not ismodule(one) for one in values)


def sizes():
    """Statements, code lines and public names by package; `top` is what belongs to none, `toml` has lines alone."""
    package = CHECKOUT / "src" / "nlgjudge"
    files = {"site": sorted((CHECKOUT / "site").glob("*.py")), "top": sorted(package.glob("*.py"))}
    for folder in sorted(path.parent for path in package.glob("*/__init__.py")):
        files[folder.name] = sorted(folder.rglob("*.py"))
    found = {}
    for name, paths in files.items():
        counts = [size_of(path.read_text(encoding="utf-8")) for path in paths]
        found[name] = (*map(sum, zip(*counts)), names_of(getattr(nlgjudge, name, None)))
    everyday = [getattr(nlgjudge, name) for name in nlgjudge.__all__]
    found["top"] = (*found["top"][:2], sum(not ismodule(one) for one in everyday))
    tables = [path.read_text(encoding="utf-8") for path in package.rglob("*.toml")]
    return found | {"toml": (0, sum(map(toml_lines, tables)), 0)}


if __name__ == "__main__":
    print(f"{'':10}{'statements':>12}{'code lines':>12}{'names':>8}")
    for name, row in sizes().items():
        print(f"{name:10}{row[0]:12,}{row[1]:12,}{row[2]:8}")
    total = [sum(column) for column in zip(*sizes().values())]
    print(f"{'all':10}{total[0]:12,}{total[1]:12,}{total[2]:8}")
