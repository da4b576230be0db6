"""Files of one's own: formats, what other people's files hold, and a message for every fault."""

import csv
import io
import json

import pandas as pd
import pytest

from nlgjudge.data.own_files import own_data
from nlgjudge.data.paths import root

HEADER = ["source", "hypothesis", "system", "references", "human:fluency:ann", "human:fluency:bob"]
# Two documents (by their sources) and two systems; rows 2 to 5 of the file.
ROWS = [
    ["A town, far off.", "A town.", "one", "Far town. ||| A town", "3", "4"],
    ["A town, far off.", 'Town "far"\noff', "two", "Far town.", "5", "5"],
    ["A river.", "River.", "one", "The river.", "1", ""],
    ["A river.", "A boat.", "two", "The river.", "2", "1"],
]
ANN = "human:fluency:ann"
FORM = "human:ASPECT or human:ASPECT:RATER"


def text(rows, header=HEADER, **options):
    buffer = io.StringIO()
    csv.writer(buffer, **options).writerows([header, *rows])
    return buffer.getvalue()


def changed(*changes):
    """The rows with cells (row number of the file, column's name) replaced."""
    rows = [list(row) for row in ROWS]
    for row, column, value in changes:
        rows[row - 2][HEADER.index(column)] = value
    return text(rows)


def records():
    """The same rows as objects: numbers, missing ratings as None, references as lists."""
    objects = [dict(zip(HEADER, row)) for row in ROWS]
    for record in objects:
        record["references"] = [part.strip() for part in record["references"].split("|||")]
        for name in HEADER[4:]:
            record[name] = float(record[name]) if record[name] else None
    return objects


@pytest.fixture
def write(tmp_path):
    def written(content, name="mine.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def problems(path, **options):
    with pytest.raises(ValueError) as caught:
        own_data(path, **options)
    first, *lines = str(caught.value).splitlines()
    assert first == f"{path} cannot be used; {len(lines)} found:"
    return lines


def test_a_file_is_read_whole(write):
    path = write(text(ROWS))
    mine = own_data(path)
    assert (mine.name, mine.source, mine.notice, mine.notes) == ("mine", "own", "", [])
    assert mine.aspects == ["fluency"]
    assert mine.items["item_id"].tolist() == ["row 2", "row 3", "row 4", "row 5"]
    assert mine.items["doc_id"].tolist() == ["document 1"] * 2 + ["document 2"] * 2
    assert mine.items["hypothesis"].tolist() == [row[1] for row in ROWS]
    assert mine.items["references"].tolist()[:2] == [["Far town.", "A town"], ["Far town."]]
    assert mine.human()["fluency"].tolist() == [3.5, 5, 1, 1.5]  # the third is ann's 1 alone
    assert mine.digest != own_data(write(text(ROWS[:3]))).digest


def test_documents_may_be_named_and_texts_kept(write):
    header = [*HEADER, "doc_id", "context", "human:style"]
    rows = [[*row, f"d{i // 2}", "chat" * (i < 2), str(i)] for i, row in enumerate(ROWS)]
    mine = own_data(write(text(rows, header)))
    assert mine.items["doc_id"].tolist() == ["d0", "d0", "d1", "d1"]
    assert mine.items["context"].tolist() == ["chat", "chat", "", ""]
    assert mine.ratings.query("aspect == 'style'")["rater"].unique().tolist() == ["mean"]


# Files as people have them


@pytest.fixture
def case():
    def path(name):
        shared = root().parent / "shared" / "cases" / "data" / name
        if not shared.is_file():
            pytest.skip("needs the mirror and the files beside it")
        return shared

    return path


@pytest.fixture
def isolated(monkeypatch):
    """These files are found beside the repository, and nothing is read from a cache."""
    monkeypatch.delenv("NLGJUDGE_ROOT", raising=False)


def test_an_unnamed_index_column_is_left_out_with_a_note(case):
    mine = own_data(case("27_pandas_index.csv"))
    (note,) = mine.notes
    assert "a column without a name" in note
    ratings = pd.read_csv(case("27_pandas_index.csv"))["human:fluency"]
    assert mine.human()["fluency"].tolist() == ratings.tolist()


def test_a_row_for_each_rater_is_read_as_raters(case, write):
    path = case("02_row_per_rater.csv")
    (line,) = problems(path)
    assert "several outputs of one system for one document" in line and "rater=COLUMN" in line
    mine = own_data(path, columns="rater=worker")
    assert mine.notes == ["rater: 108 rows are read as 36 outputs, with raters named here"]
    assert mine.ratings.groupby("rater").size().to_dict() == {"W1": 36, "W2": 36, "W3": 36}
    frame = pd.read_csv(path)
    expected = frame.groupby(["doc_id", "system"], sort=False)["human:fluency"].mean()
    assert mine.human()["fluency"].tolist() == pytest.approx(expected.tolist())


def test_a_rater_may_have_missed_an_output(write):
    header = ["source", "hypothesis", "system", "rater", "human:fluency"]
    rows = [["s", "t", "one", "a", "4"], ["s", "t", "one", "b", "2"], ["s", "u", "two", "a", "5"]]
    mine = own_data(write(text(rows, header)))
    assert mine.human()["fluency"].tolist() == [3, 5]  # (4 + 2) / 2, and a's 5 alone
    assert mine.items["item_id"].tolist() == ["row 2", "row 4"]


def rated_by_aspect(**columns):
    """Rows of two outputs for each of two aspects, in the order of the file."""
    rows = [
        ("one", "style", "4"),
        ("one", "fluency", "2"),
        ("two", "style", "1"),
        ("two", "fluency", "5"),
    ]
    frame = pd.DataFrame(rows, columns=["system", "aspect", "human:score"])
    return frame.assign(source="s", hypothesis="text of " + frame["system"], **columns)


@pytest.mark.parametrize(
    "names",
    [
        {},
        {"human:score": "human:fluency"},  # the column's own aspect is none
    ],
)
@pytest.mark.parametrize("with_raters", [False, True])
def test_a_row_for_each_aspect_is_read_as_aspects(write, names, with_raters):
    frame = rated_by_aspect(rater="W1")
    means = {"style": [4, 1], "fluency": [2, 5]}
    if with_raters:
        other = frame.assign(rater="W2", **{"human:score": ["2", "2", "3", "1"]})
        frame = pd.concat([frame, other]).iloc[:-1]  # W2 skipped one
        means = {"style": [3, 2], "fluency": [2, 5]}
    mine = own_data(write(frame.rename(columns=names).to_csv(index=False)))
    assert mine.aspects == ["style", "fluency"]
    assert mine.human()[mine.aspects].to_dict("list") == means
    raters = ["W1", "W2"] if with_raters else ["W1"]
    assert mine.ratings["rater"].unique().tolist() == raters
    assert any(f"aspect: {len(frame)} rows are read as 2" in note for note in mine.notes)


def test_aspects_rated_by_different_raters_are_no_raters_of_one_aspect(write):
    mine = own_data(write(rated_by_aspect(rater=["W1", "W2"] * 2).to_csv(index=False)))
    assert mine.human()[["style", "fluency"]].to_numpy().tolist() == [[4, 2], [1, 5]]


def test_aspects_may_be_mapped(write):
    path = write(rated_by_aspect().rename(columns={"aspect": "question"}).to_csv(index=False))
    assert "name the column `rater` or `aspect`" in problems(path)[0]
    assert own_data(path, columns="aspect=question").aspects == ["style", "fluency"]


@pytest.mark.parametrize("name", ["aspect", "dimension"])
def test_a_file_with_several_aspects_may_have_such_a_column(write, name):
    """Of what a review is about, for example; the aspects are those of the ratings."""
    header = [*HEADER, "human:style", name]
    mine = own_data(write(text([[*row, str(i), "battery"] for i, row in enumerate(ROWS)], header)))
    assert mine.aspects == ["fluency", "style"] and f"{name}: no rating" in "\n".join(mine.notes)


@pytest.mark.parametrize("cell", ["style: formal", "", "doc_id"])
def test_an_aspect_that_cannot_be_named_is_refused(write, cell):
    frame = rated_by_aspect().replace({"aspect": {"style": cell}})
    assert f"expected {FORM}, and no aspect called" in problems(write(frame.to_csv(index=False)))[0]


@pytest.mark.parametrize("name", ["form", "aspect"])
def test_only_a_column_named_as_raters_has_raters(write, name):
    """The first of the rows would be read as raters `x` and `y`, the second has an aspect twice."""
    names = {"form": ["x", "y"] * 2, "aspect": ["x"] * 4}
    frame = rated_by_aspect().drop(columns="aspect").assign(**{name: names[name]})
    assert "several outputs of one system" in problems(write(frame.to_csv()))[0]


def test_codes_for_missing_ratings_are_named(case):
    (note,) = own_data(case("11_missing_codes.csv")).notes
    assert "row 2, 7, 9: -999, -1, 99 outside the other ratings (1 to 5)" in note


@pytest.mark.parametrize("values, noted", [("0,50,99,100", False), ("-1,0,1,1", True)])
def test_a_code_within_the_scale_is_a_rating(write, values, noted):
    rows = [[*row[:4], cell, row[5]] for row, cell in zip(ROWS, values.split(","))]
    notes = own_data(write(text(rows))).notes
    assert any("outside the other ratings" in note for note in notes) == noted


@pytest.mark.parametrize(
    "name, columns",
    [
        ("18_list_of_ratings.parquet", None),
        (
            "01_nested_annotations.jsonl",
            "source=text,hypothesis=decoded,system=model_id,human:x=expert_annotations",
        ),
    ],
)
def test_several_ratings_in_one_cell_are_refused(case, name, columns):
    assert "several ratings in one cell" in problems(case(name), columns=columns)[0]


def test_raters_who_contradict_each_other_are_named(case):
    (note,) = own_data(case("25_rater_reversed.csv")).notes
    assert "r1" in note and "r2" in note and "contradict each other (correlation -1.00)" in note


@pytest.mark.parametrize(
    "first, second, expected",
    [
        ([1, 2, 3, 4, 5, 5], [10, 90, 30, 100, 0, 60], "a (1 to 5) and b (0 to 100)"),
        ([-2, 2, 0, 1, -1, 0], [1, 2, 3, 4, 5, 5], "a (-2 to 2) and b (1 to 5)"),
        ([1, 2, 3, 4, 5, 5], [1, 1, 2, 3, 4, 2], None),
        ([1, 2, 3, 4, 5, 5], [40, 30, "", "", "", 50], None),  # too few to say
    ],
)
def test_raters_on_different_scales_are_named(write, first, second, expected):
    rows = [["s", f"text {i}", f"m{i}", *pair] for i, pair in enumerate(zip(first, second))]
    header = ["source", "hypothesis", "system", "human:style:a", "human:style:b"]
    notes = [note for note in own_data(write(text(rows, header))).notes if "range" in note]
    assert len(notes) == bool(expected)
    assert all(note.startswith(f"human:style: the ratings of {expected} differ") for note in notes)


@pytest.mark.parametrize("cells", [["A text.", "Another."] * 2, [1, 2, 3, 4], [["a", "b"]] * 4])
def test_a_column_human_without_a_colon_is_no_rating(write, cells):
    objects = [dict(zip(THEIRS, row)) | {"Human": cell} for row, cell in zip(ROWS, cells)]
    path = as_json_lines(write(""), objects)
    mine = own_data(path, columns=MAPPED)
    assert "Human: no rating; a prompt can show it, as {{Human}}" in mine.notes
    plain = own_data(write(text(ROWS)))
    assert mine.human()["fluency"].tolist() == plain.human()["fluency"].tolist()
    only = {key: value for key, value in MAPPED.items() if ":" not in key}
    assert problems(path, columns=only)[0].startswith(f"file: missing {FORM}")


def test_ids_as_float_and_as_integer_are_one_document(case):
    assert own_data(case("26_ids_float_int.csv")).items["doc_id"].nunique() == 12


def test_the_first_message_names_the_parameter_and_the_files_columns(case):
    (line,) = problems(case("36_rating_names.csv"))
    assert f"missing source, hypothesis, system, {FORM}; the file has the columns article" in line
    assert line.endswith('system=COLUMN,human:fluency=COLUMN"')
    columns = "source=article,hypothesis=summary,system=model,human:fluency=Fluency"
    assert own_data(case("36_rating_names.csv"), columns=columns).aspects == ["fluency"]


def test_a_spreadsheet_export_with_semicolons_is_read_and_needs_utf_8(write):
    rows = [[cell.replace("River", "Flüßchen") for cell in row] for row in ROWS]
    rows[0][4] = "3,5"
    content = text(rows, delimiter=";")
    (line,) = problems(write(content.encode("latin-1")))
    assert "not UTF-8" in line and "encoding=" in line
    mine = own_data(write(content))
    assert mine.items["hypothesis"][2] == "Flüßchen."
    assert mine.human()["fluency"].tolist() == [3.75, 5, 1, 1.5]  # (3.5 + 4) / 2


# Formats


def as_json_lines(path, objects):
    path = path.with_suffix(".jsonl")
    path.write_text("".join(json.dumps(record) + "\n" for record in objects), encoding="utf-8")
    return path


def as_parquet(path, objects):
    pd.DataFrame(objects).to_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def as_json(path, objects):
    path.with_suffix(".json").write_text(json.dumps(objects), encoding="utf-8")
    return path.with_suffix(".json")


def as_folder(path, objects):
    from datasets import Dataset

    Dataset.from_list(objects).save_to_disk(path.with_suffix(""))
    return path.with_suffix("")


def as_excel(path, objects):
    pytest.importorskip("openpyxl")
    flat = [record | {"references": "|||".join(record["references"])} for record in objects]
    pd.DataFrame(flat).to_excel(path.with_suffix(".xlsx"), index=False)
    return path.with_suffix(".xlsx")


def as_tabs(path, objects):
    flat = pd.DataFrame(objects).assign(references=[row[3] for row in ROWS])
    content = flat.to_csv(index=False, sep="\t", lineterminator="\r\n")
    path.write_text("\ufeff" + content, encoding="utf-8")
    return path


FORMATS = [
    (as_json_lines, "line", 1),
    (as_json, "index", 0),
    (as_parquet, "index", 0),
    (as_folder, "index", 0),
    (as_excel, "row", 2),
    (as_tabs, "row", 2),
]


@pytest.mark.parametrize("save, unit, begin", FORMATS)
def test_every_format_equals_the_csv_and_names_the_place_of_a_fault(write, save, unit, begin):
    path = write(text(ROWS), "plain.csv")
    plain, mine = own_data(path), own_data(save(path.with_stem("mine"), records()))
    assert mine.items["item_id"].tolist() == [f"{unit} {begin + i}" for i in range(4)]
    columns = [name for name in plain.items if name != "item_id"]
    assert mine.items[columns].to_dict("list") == plain.items[columns].to_dict("list")
    assert mine.ratings["score"].fillna(-1).tolist() == plain.ratings["score"].fillna(-1).tolist()
    wrong = [record | {ANN: str(record[ANN])} for record in records()]
    wrong[2] |= {"hypothesis": None, ANN: "good"}
    empty, word = problems(save(path.with_stem("wrong"), wrong))
    assert empty.startswith(f"hypothesis, {unit} {begin + 2}: an empty text")
    assert word.startswith(f"{ANN}, {unit} {begin + 2}: 'good' is not a number")


# Quotation marks

PLAIN = ["source", "hypothesis", "system", "human:fluency"]
OPENS = '"Hello he said.'


def unquoted(cells, separator="\t", end="\n"):
    """36 outputs below the header, written without quoting; `cells` replaces (row, column)."""
    table = [PLAIN]
    table += [[f"s{i // 3}", f"text {i}", f"m{i % 3}", str(i % 5)] for i in range(36)]
    for (row, column), cell in cells.items():
        table[row - 1][PLAIN.index(column)] = cell
    return "".join(separator.join(row) + end for row in table)


@pytest.mark.parametrize("separator, end", [("\t", "\n"), (",", "\r\n"), (";", "\r")])
@pytest.mark.parametrize(
    "cells, row",
    [
        ({(7, "hypothesis"): OPENS, (23, "hypothesis"): '"Bye" she said.'}, 7),
        ({(7, "hypothesis"): OPENS, (23, "hypothesis"): 'Bye she said."'}, 7),
        ({(7, "hypothesis"): OPENS, (8, "hypothesis"): 'Bye she said."'}, 7),
        ({(7, "hypothesis"): OPENS, (8, "source"): 'Bye she said."'}, 7),
        ({(7, "source"): OPENS, (7, "hypothesis"): 'Bye she said."'}, 7),
        ({(37, "hypothesis"): OPENS}, 37),
        ({(7, "hypothesis"): '"Hello" he said.', (8, "hypothesis"): '"Bye"'}, 7),
        ({(7, "hypothesis"): 'He said "hello".', (8, "hypothesis"): '5" or 6"'}, 0),
    ],
)
def test_no_quotation_mark_swallows_a_row(write, separator, end, cells, row):
    path = write(unquoted(cells, separator, end))
    if row:
        (line,) = problems(path)
        assert f"row {row}" in line and "quoting=csv.QUOTE_NONE" in line
        mine = own_data(pd.read_csv(path, sep=separator, quoting=csv.QUOTE_NONE))
    else:
        mine = own_data(path)
    assert mine.items["system_id"].tolist() == [f"m{i % 3}" for i in range(36)]
    for (place, column), cell in cells.items():
        assert mine.items[column][place - 2] == cell


@pytest.mark.parametrize("separator", ["\t", ","])
@pytest.mark.parametrize(
    "cells, row",
    [
        ({(9, "hypothesis"): OPENS, (23, "hypothesis"): '"Bye" she said.'}, 9),
        ({(9, "hypothesis"): OPENS, (23, "hypothesis"): 'Bye she said."'}, 9),
        ({(37, "hypothesis"): OPENS}, 37),
        ({(9, "source"): OPENS, (9, "hypothesis"): 'Bye she said."'}, 9),
    ],
)
def test_an_open_quotation_mark_among_quoted_cells_is_refused(write, separator, cells, row):
    quoted = {(3, "hypothesis"): f'"a{separator} b"', (4, "hypothesis"): '"a ""b"""'}
    (line,) = problems(write(unquoted(quoted | cells, separator)))
    assert line.startswith("file: ") and f"row {row}" in line and "quotation mark" in line


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quoted_line_breaks_and_blank_lines_are_no_rows(write, end):
    # Longer than csv's default for a cell.
    long = f"one, two, 3, 4{end}{end}one, two, 3, 4{end}" * 5000
    rows = [["A town.", f'A "town",{end}off', "one", "4"], ["A town.", long, "two", "2"]]
    rows += [[f"A, {i}", f'"{i}"', "one", "1"] for i in range(5)]
    mine = own_data(write(text(rows, PLAIN, lineterminator=end) + end))
    assert mine.items["hypothesis"].tolist() == [row[1] for row in rows]
    assert not any("quotation" in note for note in mine.notes)
    every = write(text(rows, PLAIN, quoting=csv.QUOTE_ALL))
    assert own_data(every).items["hypothesis"].tolist() == [row[1] for row in rows]


# Faults


@pytest.mark.parametrize("depth", [900, 100_000])
@pytest.mark.parametrize("opened, closed", [("[", "]"), ('{"a":', "}")])
def test_values_nested_too_deeply_are_refused_with_their_line(write, depth, opened, closed):
    deep = f'{{"source": {opened * depth}1{closed * depth}}}'
    (line,) = problems(write(f"{json.dumps(records()[0])}\n{deep}\n", "mine.jsonl"))
    assert line.startswith("file: line 2: expected a JSON object (maximum recursion depth exceeded")


@pytest.mark.parametrize(
    "content, expected",
    [
        (text([ROWS[0], ROWS[1][:2]]), "file: row 3 has 2 cells; expected 6"),
        ("source,hypothesis,system\n\n,,\n", "file: there is no row below the header"),
        (b"\x1f\x8b\x08\0", "file: expected CSV, JSON Lines"),
        (changed((3, "system", " ")), "system, row 3: an empty text"),
        (changed((3, "system", "one")), "system, row 2, 3: several outputs of one system for one"),
        (changed((2, ANN, "bad"), (5, ANN, "bad")), f"{ANN}, row 2, 5: 'bad' is not a number"),
        (changed((3, ANN, "4,500")), f"{ANN}, row 3: '4,500' is not a number"),
        (changed((3, ANN, "inf")), f"{ANN}, row 3: 'inf' is not a number"),
        (text([[*row[:4], "3", "3"] for row in ROWS]), "human:fluency: expected different ratings"),
        (text([row[:4] for row in ROWS], HEADER[:4]), f"file: missing {FORM}; the file has the"),
        (text(ROWS, [*HEADER[:5], "human:fluency"]), "human:fluency: expected one column without"),
        (text(ROWS, [*HEADER[:5], "human:doc_id"]), f"human:doc_id: expected {FORM}"),
        (text(ROWS, [*HEADER[:5], ANN]), f"file: several columns are called {ANN!r}: rename"),
        (text([ROWS[0], [*ROWS[3], "x"]]), "file: row 3 has 7 cells; expected 6"),
        (text(ROWS) + 'A lake,"A lake,one,,3,4\n', "file: row 6: unexpected end of data"),
        (text([[*row, "d"] for row in ROWS], [*HEADER, "doc_id"]), "doc_id, row 2, 3, 4, 5"),
    ],
)
def test_every_fault_has_its_message(write, content, expected):
    assert any(line.startswith(expected) for line in problems(write(content)))


@pytest.mark.parametrize("content", ['{"source": \n', "[1]\n", '"a"\n', "1\n"])
def test_a_line_that_is_no_object_is_named(write, content):
    path = write(f"{json.dumps(records()[0])}\n\n{content}", "mine.jsonl")
    assert problems(path)[0].startswith("file: line 3: expected a JSON object")


@pytest.mark.parametrize("cell", ["NA", "n/a", "-", "\u2013", "NULL", "#N/A", " - "])
def test_words_for_nothing_are_missing_ratings(write, cell):
    path = write(changed((2, ANN, cell)))
    assert own_data(path).human()["fluency"].tolist() == [4, 5, 1, 1.5]  # the first is bob's alone


# Mappings

THEIRS = ["article", "summary", "model", "gold", "flu_a", "flu_b"]
MAPPED = dict(zip(HEADER, THEIRS))


def test_columns_of_other_names_are_mapped(write):
    plain = own_data(write(text(ROWS)))
    path = write(text(ROWS, THEIRS))
    mine = own_data(path, columns=MAPPED)
    assert mine.items.equals(plain.items) and mine.ratings.equals(plain.ratings)
    both = own_data(path, columns=MAPPED | {"context": "article"})  # one column, two purposes
    assert both.items["context"].tolist() == both.items["source"].tolist()
    (line,) = problems(path, columns=MAPPED | {"hypothesis": "sumary"})[:1]
    assert line.startswith("hypothesis: no column 'sumary': did you mean 'summary'? There are")


@pytest.mark.parametrize(
    "columns, expected",
    [
        ("hypothsis=summary", "did you mean 'hypothesis'"),
        ({"summary": "hypothesis"}, "a name used here, then your column's, as hypothesis=summary"),
    ],
)
def test_a_wrong_mapping_is_refused(write, columns, expected):
    with pytest.raises(ValueError, match="column mapping") as caught:
        own_data(write(text(ROWS)), columns=columns)
    assert expected in str(caught.value)
