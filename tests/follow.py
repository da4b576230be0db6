"""`python tests/follow.py [NOTEBOOK ...]`: does everything a notebook says follow each of its parameters?

Runs every notebook on the sample, as committed and with one parameter changed to its second value, and reads what a
reader sees: Markdown, printed lines and tables, from the first cell on. Packages are imported once, each run is a fork.
"""

import ast
import contextlib
import io
import json
import os
import pickle
import re
import resource
import signal
import sys
from pathlib import Path

from nlgjudge.data.paths import root
from prose_numbers import retold, shown, stated

# By name, or NOTEBOOK.name where one notebook needs another.
SECOND = json.loads((Path(__file__).parent / "second_values.json").read_text())
LIMIT = 60  # CPU seconds of a run
NOTHING = {
    r"(?i)(?<![\w`'-])nan\b(?!')": "a value that is not a number",
    r"\b(?:[Oo]f|of the|[Aa]ll|[Nn]one of) 0\b(?![.,%]\d| to )": "a share of nothing",
    r"(?<![\d.\]])([-−+]?\d+(?:\.\d+)?%?) to \1(?![\d.%])": "a range of one number",
    r"(?<![\w.])inf\b": "an infinite value",
    r"\b(?:[Mm]ostly|[Mm]any|[Mm]ost)\b[^.;:]{0,25}\b0 of": "a word against its number",
}


def parameters(book):
    (cell,) = [c for c in book["cells"] if "parameters" in c["metadata"].get("tags", [])]
    return {
        n.targets[0].id: ast.literal_eval(n.value) for n in ast.parse("".join(cell["source"])).body
    }


def execute(book, given):
    """Outputs of each cell as mime bundles, with later updates in place, and the error that ended the run."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell = InteractiveShell.instance()
    shell.kernel = None  # what `live` asks for
    seen, places, error = [], {}, None
    for cell in book["cells"]:
        found = []
        seen.append(found)
        if cell["cell_type"] == "markdown":
            found.append({"text/markdown": "".join(cell["source"])})
            continue
        source = "".join(cell["source"])
        if "parameters" in cell["metadata"].get("tags", []):
            source += "\n" + "\n".join(f"{name} = {value!r}" for name, value in given.items())
        with capture_output() as caught:
            result = shell.run_cell(source)
        found.append({"text/plain": caught.stdout})
        for output in caught.outputs:
            place = (output.transient or {}).get("display_id")
            if output.update:
                for old in places.get(place, []):
                    old.clear()
                    old.update(output.data)
            else:
                found.append(dict(output.data))
                places.setdefault(place, []).append(found[-1]) if place else None
        raised = result.error_before_exec or result.error_in_exec
        if raised:
            error = f"{type(raised).__name__}: {raised}"
            break
    return [
        [{k: v for k, v in one.items() if k.startswith("text/")} for one in cell] for cell in seen
    ], error


def forked(book, given):
    """`execute` in a fork, with its CPU seconds."""
    read, write = os.pipe()
    if not (child := os.fork()):
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 5))
        os.close(read)
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                done = execute(book, given)
            except BaseException as raised:
                done = [], f"runner {type(raised).__name__}: {raised}"
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(done, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status, used = os.wait4(child, 0)
    stopped = ([], f"stopped after {LIMIT} CPU seconds (signal {os.WTERMSIG(status)})")
    return (*(pickle.loads(data) if data else stopped), used.ru_utime + used.ru_stime)


def text_of(one):
    if "text/html" in one and "text/markdown" not in one:
        return re.sub(r"<style.*?</style>|<[^>]*>", " ", one["text/html"], flags=re.S)
    return one.get("text/markdown") or one.get("text/plain", "")


def prose(cells):
    """Paragraphs, each with the number of its cell."""
    for number, cell in enumerate(cells):
        for one in cell:
            if "text/markdown" in one:
                folded = one["text/markdown"].split("<details>")[0]
                yield from ((number, part) for part in folded.split("\n\n") if part.strip())


def numbers(book, cells):
    found = set()
    for cell, outputs in zip(book["cells"], cells):
        if cell["cell_type"] == "code":
            for one in outputs:
                if "text/markdown" not in one:
                    found |= shown(text_of(one))
    return found | retold(found)


def faults(book, base, cells, error, given):
    name = next(iter(given))
    if error and not re.search(rf"\b{name}\b", error):
        yield "error does not name the parameter", error[:160]
    for number, cell in enumerate(cells):
        if "nbval-ignore-output" in book["cells"][number]["metadata"].get("tags", []):
            continue  # a signature
        before = " ".join(text_of(one) for one in base[number]) if number < len(base) else ""
        for one in cell:
            text = text_of(one)
            for pattern, fault in NOTHING.items():
                found = list(re.finditer(pattern, text))
                if len(found) > len(re.findall(pattern, before)):
                    around = text[max(0, found[0].start() - 60) : found[0].end() + 30]
                    yield f"[{number}] {fault}", " ".join(around.split())
    if error or not base:
        return
    moved = numbers(book, base) - numbers(book, cells)
    stays = set(prose(base))
    for number, paragraph in prose(cells):
        if (number, paragraph) in stays:
            for stale, around in stated(paragraph):
                if stale in moved and len(re.sub(r"\D", "", stale).lstrip("0")) > 2:
                    yield (
                        f"[{number}] {stale} moved, its sentence stays",
                        " ".join(around.split())[:110],
                    )


def main(names):
    for name in names or sorted(p.stem for p in (root() / "notebooks").glob("*.ipynb")):
        book = json.loads((root() / "notebooks" / f"{name}.ipynb").read_text())
        os.chdir(root() / "notebooks")
        own = parameters(book)
        sample = {"source": "sample"} if "source" in own else {}
        base, error, used = forked(book, sample)
        print(
            f"== {name}: sample {used:.1f} s", f"ERROR {error[:200]}" if error else "", flush=True
        )
        for key in own:
            value = SECOND.get(f"{name}.{key}", SECOND.get(key))
            if key in ("source", "max_cost") or value is None:
                print(f"   {key}: no second value") if value is None and key not in (
                    "source",
                    "max_cost",
                ) else None
                continue
            cells, error, seconds = forked(book, {key: value} | sample)
            used += seconds
            for fault in dict.fromkeys(faults(book, base, cells, error, {key: value})):
                print(f"   {key} = {value!r}: {fault[0]}: {fault[1]}", flush=True)
        print(f"   {used:.1f} s CPU", flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot

    import nlgjudge as nj

    nj.load("topical_chat", "sample")
    _ = nj.Table, nj.Finding
    main(sys.argv[1:])
