"""A notebook's short answer with its numbers: committed, shown first, and checked by the notebook's last cells."""

from __future__ import annotations

import csv
import json
import math
import os
import platform
import re
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from inspect import cleandoc
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

from nlgjudge.data.checks import unknown
from nlgjudge.data.markup import shown
from nlgjudge.data.paths import SAMPLE_NOTICE, out, root, use
from nlgjudge.notebook import live

if TYPE_CHECKING:
    import pandas as pd
    from IPython.display import Image, Markdown
    from matplotlib.figure import Figure

    from nlgjudge.data.schema import Benchmark

_LIBRARIES = ("numpy", "scipy", "pandas", "rouge-score", "nltk")
COLUMNS = ["key", "text", "value", "low", "high", "n"]
TEXTS = ("question", "answer", "conditions")
NOT_COMMITTED = "Nothing is committed for {} yet; `make refresh` copies this run's answer."
_ONE_NUMBER = re.compile(r"(?<![\w.\]])([-−+]?\d+(?:[.,]\d+)*%?)\s+to\s+\1(?![\w%]|[.,]\d)")
_FIELD = re.compile(r"\{([^{}:]+):?([^{}]*)\}")
_SENTENCE_ENDS = re.compile(r"(?<=[.?!])\s+(?=[A-Z{*`])|\n{2,}")


class Value(NamedTuple):
    """A number with its 95% interval and its units; ``[]`` after a format adds the interval."""

    value: float | None = None
    low: float = math.nan
    high: float = math.nan
    n: float = math.nan

    def __format__(self, spec):
        if self.value is None:
            return "…"  # not committed yet
        if self.value != self.value:
            return "undefined"
        spec, _, interval = spec.partition("[")
        spec = spec or ("," if isinstance(self.value, int) else ".2f")
        text = format(self.value, spec)
        if interval and not math.isnan(self.low):
            bound = spec.lstrip("+")
            text += f" [{self.low:{bound}}, {self.high:{bound}}]"
        return text


class Finding:
    """The question and short answer of a notebook, made from committed values; a notebook displays it.

    Parameters
    ----------
    name
        The notebook's.
    question, answer, conditions
        Templates: ``{key:.2f}`` is a value in a format of Python, ``{key:.2f[]}`` adds its interval. The key says in
        words what was measured. The conditions are level, coefficient, judge, and what the intervals are for. Without
        an answer, as in a notebook's first cell, they are the committed ones. The table has the values with an interval
        or units, and those that no template names.

    Attributes
    ----------
    question, answer, conditions
        With the committed values.
    sentences, short
        Of the answer, and the first of them.
    values
        The committed values, by key.

    Raises
    ------
    ValueError
        Without an answer, for a name that has neither a committed finding nor a notebook.

    Examples
    --------
    >>> finding = Finding("mine", "Do more replies help?", "By {gain of twenty replies:+.2f[]}. One is cheaper.")
    >>> finding.short
    'By ….'
    >>> print(finding.check({"gain of twenty replies": (0.18, 0.1, 0.26)}, seed=0).data)
    Nothing is committed for mine yet; `make refresh` copies this run's answer.
    <BLANKLINE>
    **Question:** Do more replies help?
    <BLANKLINE>
    **Answer:** By +0.18 [0.10, 0.26]. One is cheaper.
    <BLANKLINE>
    |   | this run |
    | --- | --- |
    | gain of twenty replies | +0.18 [0.10, 0.26] |
    """

    def __init__(self, name: str, question: str = "", answer: str = "", conditions: str = ""):
        self.name = name
        self.values = _read(_path(name))
        if not answer and not self.values and name not in notebooks():
            raise ValueError(unknown("finding", name, notebooks()))
        self._before = [self.values.pop(key, "") for key in TEXTS]
        self._basis = json.loads(self.values.pop("settings", "null"))
        templates = [cleandoc(text) for text in (question, answer, conditions)]
        self._texts = templates if answer else self._before
        self._run: dict[str, Value | str] = {}

    question = property(lambda self: " ".join(self._filled(self._texts[0], self.values).split()))
    answer = property(lambda self: self._filled(self._texts[1], self.values))
    conditions = property(lambda self: self._filled(self._texts[2], self.values))
    short = property(lambda self: self.sentences[0])

    @staticmethod
    def notebooks() -> list[str]:
        """Names of the repository's notebooks, sorted."""
        return notebooks()

    @property
    def title(self) -> str:
        """The notebook's heading, without its Markdown."""
        cells = read_notebook(self.name)["cells"]
        return "".join(cells[0]["source"]).split("\n")[0].lstrip("# ").replace("`", "")

    @property
    def sentences(self) -> list[str]:
        parts = _SENTENCE_ENDS.split(self._texts[1])
        return [" ".join(self._filled(part, self.values).split()) for part in parts]

    @property
    def figure(self) -> Image | None:
        """The committed figure of the notebook, or None."""
        path = root() / "figures" / f"{self.name}.png"
        return _image(use(path), self._place("figure")) if path.exists() else None

    def check(self, values: dict, *benchmarks: Benchmark, **settings: object) -> Markdown:
        """Compare this run with the committed finding.

        Parameters
        ----------
        values
            All values of the templates, and others for the table: numbers, texts, ``(value, low, high)`` or
            ``(value, low, high, n)``, or what `nlgjudge.interval` and `nlgjudge.correlation` return.
        *benchmarks
        **settings
            Parameters that the values depend on. With others than the committed ones, or with other data, the run is
            not comparable, and may lack values.

        Returns
        -------
        Markdown
            That all is as committed; for a run that is not comparable, why, and its answer. Where the notebook's first
            cell shows the committed answer, the run's takes its place.

        Raises
        ------
        ValueError
            If a comparable run differs in a value or a template; names each. `make refresh` commits them.
        """
        from IPython.display import Markdown

        self._run = {key: _value(value) for key, value in values.items()}
        self._sample = any(benchmark.is_sample for benchmark in benchmarks)
        record = signature(*benchmarks, **settings)
        record = {"data": {k: v["digest"] for k, v in record["data"].items()}, **settings}
        self._record = json.loads(json.dumps(record, default=str))
        missing = self._formats.keys() - values.keys()
        refreshed = os.environ.get("NLGJUDGE_REFRESH") and not missing and not self._sample
        if refreshed:  # what this run gives will be committed
            self.values, self._before, self._basis = self._run, self._texts, self._record
        self._comparable = self._record == self._basis
        self._draws_committed = self._comparable and not refreshed
        if missing and (self._comparable or self._basis is None):
            raise ValueError(
                f"{self.name}: a template names {sorted(missing)}; values has {[*values]}."
            )
        differences = []
        if self._basis is None:
            notice = NOT_COMMITTED.format(self.name)
        elif not self._comparable:
            notice = (
                f"**This run is not comparable with the committed one**: {self._other_settings()}."
            )
        elif differences := self._differences():
            notice = f"Other than committed: {'; '.join(differences)}."
        else:
            live.replace(self._place("answer"), self._repr_mimebundle_())
            return Markdown(f"All {len(self._run)} values are as committed.")
        above = live.replace(self._place("answer"), _text(self._of_run(notice)))
        if differences:
            raise ValueError(
                f"{self.name}: {len(differences)} differ from {_path(self.name).relative_to(root())}: "
                f"{'; '.join(differences)}. If the new ones are right, `make refresh` commits them."
            )
        if above:
            return Markdown(f"{notice} Its answer now stands at the top of this notebook.")
        return Markdown(f"{notice}\n\n{self._shown(self._run, 'this run')}")

    def save(self, table: pd.DataFrame, path: str, *, index: bool = False) -> None:
        """Save a further table of the notebook as a CSV file, by its path in the folder of this run's results."""
        file = out() / path
        file.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(file, index=index, lineterminator="\n")

    def write(self, figure: Figure | None = None) -> None:
        """Write what `check` was given to `findings/NAME.csv` of this run's results, and save a figure.

        Where the first cells show the committed figure, that of another run takes its place.
        """
        folder = out(self._sample) / "findings"
        folder.mkdir(parents=True, exist_ok=True)
        rows = [{"key": key, "text": text} for key, text in zip(TEXTS, self._texts)]
        rows.append({"key": "settings", "text": json.dumps(self._record, sort_keys=True)})
        for key, value in self._run.items():
            numbers = value._asdict() if isinstance(value, Value) else {"text": value}
            rows.append(
                {"key": key, **{k: v for k, v in numbers.items() if k == "value" or v == v}}
            )
        with open(folder / f"{self.name}.csv", "w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
        if figure is not None:
            from nlgjudge.notebook import figures  # a short answer draws nothing

            figures.save(figure, self.name, sample=self._sample)
        kept = self._draws_committed
        path = (root() if kept else out(self._sample)) / "figures" / f"{self.name}.png"
        drawn = (kept or figure is not None) and path.exists()
        image = _image(path) if drawn else _text("*This run has nothing to draw.*")
        above = live.replace(self._place("figure"), image)
        if figure is not None and (above or self._comparable):
            figures.plt.close(figure)

    def _place(self, what):
        return f"{self.name}/{what}"

    def _ipython_display_(self):
        live.show(self._place("answer"), self._expected)

    def _expected(self, changes):
        """The committed answer, under other parameters than the committed ones."""
        head = f"**This run:** {changes}. Its answer takes this place when it is computed; committed is:\n\n"
        return _text(head * bool(changes) + self._repr_mimebundle_()["text/markdown"])

    def _of_run(self, notice):
        """This run's answer, its numbers beside the committed ones, and the committed answer folded."""
        if self._basis is None:
            return f"{notice}\n\n{self._shown(self._run, 'this run')}"
        if changes := live.changes(self.name):
            notice = f"**This run:** {changes}."
            notice += f" {SAMPLE_NOTICE.capitalize()}." * self._sample
        committed = Finding(self.name)._repr_mimebundle_()["text/markdown"]
        return (
            f"{notice}\n\n{self._shown(self._run, 'this run', self.values)}\n\n"
            f"<details><summary>Unfold the committed answer</summary>\n\n{committed}\n\n</details>"
        )

    def _repr_mimebundle_(self, **_):
        parts = [self._shown(self.values, "committed")] * bool(self._texts[1])
        parts += [NOT_COMMITTED.format(self.name)] * (self._basis is None)
        return _text("\n\n".join(parts))

    def _shown(self, values, head, committed=None):
        """Question, answer, and the numbers, beside the committed ones if given, as a table with its conditions."""
        texts = {k: shown(v, "value") if isinstance(v, str) else v for k, v in values.items()}
        question, answer, conditions = (self._filled(text, texts) for text in self._texts)
        parts = [f"**Question:** {question}", f"**Answer:** {answer}"]
        numbers = {key: value for key, value in values.items() if self._is_row(key, value)}
        if numbers:
            columns = {" ": [shown(key, "markdown") for key in numbers]}
            columns[head] = [self._cell(*item) for item in numbers.items()]
            if committed is not None:
                columns["committed"] = [
                    self._cell(key, committed[key]) if key in committed else "–" for key in numbers
                ]
            units = ["" if math.isnan(value.n) else f"{value.n:,}" for value in numbers.values()]
            columns |= {"n": units} if any(units) else {}
            rows = [columns, ("---",) * len(columns), *zip(*columns.values())]
            lines = [f"| {' | '.join(row)} |" for row in rows]
            parts.append("\n".join(lines))
        return "\n\n".join([*parts, *([conditions] if conditions else [])])

    def _is_row(self, key, value):
        """Whether a value is a row of the table; a plain number is none if a template has it."""
        if not isinstance(value, Value):
            return False
        return key not in self._formats or any(part == part for part in value[1:])

    def _cell(self, key, value):
        """A value with its interval, in the format of the templates."""
        spec = self._formats.get(key, "")
        return format(value, spec if spec.endswith("[]") else f"{spec}[]")

    @property
    def _formats(self):
        """By key of the templates, its format."""
        return dict(_FIELD.findall("".join(self._texts)))

    def _filled(self, text, values):
        """A template with its values; a range of one number is that number."""
        text = _FIELD.sub(lambda field: format(values.get(field[1], Value()), field[2]), text)
        return _ONE_NUMBER.sub(r"\1", text)

    def _other_settings(self):
        """Settings that differ from the committed ones."""
        if self._sample:
            return SAMPLE_NOTICE
        now, before = self._record, self._basis
        keys = [key for key in {**before, **now} if now.get(key) != before.get(key)]
        changed = [f"{key} {now.get(key)!r}, committed {before.get(key)!r}" for key in keys]
        return shown(", ".join(changed), "markdown")

    def _differences(self):
        """What differs from the committed values and templates, a text for each."""
        texts = zip(TEXTS, self._before, self._texts)
        differences = [f"the template of the {key}" for key, before, now in texts if before != now]
        for key in {**self.values, **self._run}:
            before, now = self.values.get(key), self._run.get(key)
            if not _same(before, now):
                differences.append(f"{key} is {_plain(now)}, committed {_plain(before)}")
        return differences


def signature(*benchmarks: Benchmark, **settings: object) -> dict:
    """Record what a result was computed from, for a notebook's last cell.

    Returns
    -------
    dict
        `data` (by benchmark its source, number of files, a digest of their git blob ids, and the optional files that
        were not used), `settings` (parameters and policies that the result depends on) and `versions`.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> record = signature(load("summeval", "sample"), level="sample")
    >>> record["data"]["summeval"]["source"], record["settings"]
    ('sample', {'level': 'sample'})
    """
    data: dict[str, dict] = {}
    for benchmark in benchmarks:
        data[benchmark.name] = {
            "source": benchmark.source,
            "files": len(benchmark.files),
            "digest": benchmark.digest,
        }
        if benchmark.left_out:
            data[benchmark.name]["without"] = sorted(benchmark.left_out)
    versions = {"nlgjudge": version("nlgjudge"), "python": platform.python_version()}
    for library in _LIBRARIES:
        with suppress(PackageNotFoundError):  # a wheel without the extra `metrics`
            versions[library] = version(library)
    return {"data": data, "settings": settings, "versions": versions}


def notebooks() -> list[str]:
    """Names of the repository's notebooks, sorted."""
    return sorted(path.stem for path in (root() / "notebooks").glob("*.ipynb"))


def read_notebook(name: str) -> dict:
    """A notebook as committed."""
    path = root() / "notebooks" / f"{name}.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


def _image(path, place=""):
    """A figure's PNG; displayed at a place of the notebook if one is named."""
    from IPython.display import Image

    class Committed(Image):
        def _ipython_display_(self):
            live.show(place, live.until_drawn(_image(path)))

    data = path.read_bytes()
    width = int.from_bytes(data[16:20]) * 2 // 3  # saved at 150 dpi, shown at 100
    return (Committed if place else Image)(data, width=width)


def _text(markdown):
    """Markdown as its mime bundle."""
    return {"text/markdown": markdown, "text/plain": markdown}


def _path(name):
    return root() / "paper_tables" / "findings" / f"{name}.csv"


def _read(path):
    """Texts and values by key; empty if there is no file."""
    if not path.exists():
        return {}
    with open(use(path), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        row["key"]: Value(*(_number(row[name]) for name in COLUMNS[2:]))
        if row["value"]
        else row["text"]
        for row in rows
    }


def _number(text):
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text or "nan")


def _value(number):
    """A text, or a `Value` whose numbers have nine digits."""
    if isinstance(number, str):
        return number
    if hasattr(number, "value"):
        number = [getattr(number, name, math.nan) for name in Value._fields]
    parts = number if isinstance(number, (list, tuple)) else [number]
    return Value(*(int(x) if isinstance(x, Integral) else float(f"{x:.9g}") for x in parts))


def _same(before, now):
    if not (isinstance(before, Value) and isinstance(now, Value)):
        return before == now
    pairs = zip(before, now)
    return all(
        math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) or a != a and b != b for a, b in pairs
    )


def _plain(value):
    return f"{value:.7g[]}" if isinstance(value, Value) else repr(value)
