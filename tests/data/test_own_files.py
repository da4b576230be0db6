"""Files of one's own: formats, what other people's files hold, and a message for every fault."""

import csv
import io
import json
import sys
import zipfile

import pandas as pd
import pytest

from nlgjudge.data.own_files import check_own_data, lines, mapping, own_data
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


@pytest.fixture
def write(tmp_path):
    def written(content, name="mine.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def said(path, kind="problem", **options):
    findings = check_own_data(path, **options)
    return lines(findings[findings["kind"] == kind])


def records():
    """The same rows as objects: numbers, missing ratings as None, references as lists."""
    found = [dict(zip(HEADER, row)) for row in ROWS]
    for record in found:
        record["references"] = [part.strip() for part in record["references"].split("|||")]
        for name in HEADER[4:]:
            record[name] = float(record[name]) if record[name] else None
    return found


def test_a_good_file_is_read_whole(write):
    path = write(text(ROWS))
    assert said(path) == []
    assert said(path, "note") == [
        "doc_id: only 2 documents: intervals will be wide",
        "human:fluency:bob, row 4: no rating",
    ]
    mine = own_data(path)
    assert (mine.name, mine.source, mine.notice, mine.aspects) == ("mine", "own", "", ["fluency"])
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
        found = root().parent / "shared" / "cases" / "data" / name
        if not found.is_file():
            pytest.skip("needs the shared files")
        return found

    return path


@pytest.fixture
def isolated(monkeypatch):
    """These files are found beside the repository, and nothing is read from a cache."""
    monkeypatch.delenv("NLGJUDGE_ROOT", raising=False)


def means(path, **options):
    return own_data(path, **options).human().groupby("system_id").mean(numeric_only=True)


def test_an_unnamed_index_column_is_left_out_with_a_note(case):
    path = case("27_pandas_index.csv")
    assert "file: a column without a name, as `to_csv` writes for the index, is left out" in said(
        path, "note"
    )
    plain = pd.read_csv(path).groupby("system")["human:fluency"].mean()
    assert means(path)["fluency"].tolist() == plain.tolist()


def test_a_row_for_each_rater_is_read_as_raters(case, write):
    path = case("02_row_per_rater.csv")
    assert "worker: 108 rows are read as 36 outputs, with raters named here" in said(path, "note")
    mine = own_data(path)
    assert mine.ratings.groupby("rater").size().to_dict() == {"W1": 36, "W2": 36, "W3": 36}
    expected = pd.read_csv(path).groupby(["doc_id", "system"], sort=False)["human:fluency"].mean()
    assert mine.human()["fluency"].tolist() == pytest.approx(expected.tolist())
    # Two columns could name the raters: the message says how to choose.
    frame = pd.read_csv(path)
    both = write(frame.assign(annotator_id=frame["worker"]).to_csv(index=False))
    assert said(both) == [
        "system: several outputs of one system for one document: keep one. If each row is one rater's or "
        "one aspect's, name the column `rater` or `aspect` (or map rater=COLUMN, aspect=COLUMN), or give "
        "each rater and aspect a column human:ASPECT:RATER"
    ]
    assert own_data(both, columns={"rater": "worker"}).human().equals(mine.human())


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
        {"aspect": "Dimension"},
        {"aspect": "criterion"},
        {"human:score": "human:fluency"},  # the column's own aspect is none
    ],
)
@pytest.mark.parametrize("with_raters", [False, True])
def test_a_row_for_each_aspect_is_read_as_aspects(write, names, with_raters):
    frame = rated_by_aspect(worker="W1")
    if with_raters:
        other = frame.assign(worker="W2", **{"human:score": ["2", "2", "3", "1"]})
        frame = pd.concat([frame, other]).iloc[:-1]  # W2 skipped one
    path = write(frame.rename(columns=names).to_csv(index=False))
    mine = own_data(path)
    means = (
        {"style": [3, 2], "fluency": [2, 5]}
        if with_raters
        else {"style": [4, 1], "fluency": [2, 5]}
    )
    assert mine.aspects == ["style", "fluency"]
    assert mine.human()[mine.aspects].to_dict("list") == means
    raters = ["W1", "W2"] if with_raters else ["mean"]
    assert mine.ratings["rater"].unique().tolist() == raters
    aspect = names.get("aspect", "aspect")
    note = f"{aspect}: {len(frame)} rows are read as 2 outputs, with aspects named here"
    assert note in said(path, "note")


def test_aspects_rated_by_different_raters_are_no_raters_of_one_aspect(write):
    mine = own_data(write(rated_by_aspect(worker=["W1", "W2"] * 2).to_csv(index=False)))
    assert mine.human()[["style", "fluency"]].to_numpy().tolist() == [[4, 2], [1, 5]]


def test_one_aspect_of_a_file_by_aspects(write):
    mine = own_data(write(rated_by_aspect().iloc[::2].to_csv(index=False)))
    assert mine.human()["style"].tolist() == [4, 1] and mine.aspects == ["style"]


def test_aspects_may_be_mapped(write):
    path = write(rated_by_aspect().rename(columns={"aspect": "question"}).to_csv(index=False))
    assert "name the column `rater` or `aspect`" in said(path)[0]
    assert own_data(path, columns={"aspect": "question"}).aspects == ["style", "fluency"]


@pytest.mark.parametrize("name", ["aspect", "dimension"])
def test_a_file_with_several_aspects_may_have_such_a_column(write, name):
    """Of what a review is about, for example; the aspects are those of the ratings."""
    header = [*HEADER, "human:style", name]
    path = write(text([[*row, str(i), "battery"] for i, row in enumerate(ROWS)], header))
    assert own_data(path).aspects == ["fluency", "style"]
    assert f"{name}: not used" in said(path, "note")


def test_a_list_tells_no_rows_apart(write):
    found = [record | {"dimensions": ["x", "y"]} for record in records()]
    assert own_data(as_json_lines(write(""), found)).aspects == ["fluency"]


@pytest.mark.parametrize("cell", ["style: formal", "", "doc_id"])
def test_an_aspect_that_cannot_be_named_is_refused(write, cell):
    frame = rated_by_aspect().replace({"aspect": {"style": cell}})
    assert f"expected {FORM}, and no aspect called" in said(write(frame.to_csv(index=False)))[0]


@pytest.mark.parametrize("name", ["form", "aspect"])
def test_only_a_column_named_as_raters_has_raters(write, name):
    """The first of the rows would be read as raters `x` and `y`, the second has an aspect twice."""
    frame = rated_by_aspect().drop(columns="aspect")
    names = {"form": ["x", "y"] * 2, "aspect": ["x"] * 4}
    assert (
        "several outputs of one system"
        in said(write(frame.assign(**{name: names[name]}).to_csv()))[0]
    )


@pytest.mark.parametrize(
    "name", ["rater", "Annotator ID", "WorkerId", "human_annotator", "amt_worker_id", "Evaluators"]
)
def test_columns_named_as_raters(write, name):
    frame = rated_by_aspect().drop(columns="aspect")
    mine = own_data(write(frame.assign(**{name: ["x", "y"] * 2}).to_csv(index=False)))
    assert mine.ratings["rater"].tolist() == ["x", "x", "y", "y"]
    assert mine.human()["score"].tolist() == [3, 3]


def test_codes_for_missing_ratings_are_named(case):
    path = case("11_missing_codes.csv")
    (note,) = [line for line in said(path, "note") if line.startswith("human:fluency")]
    assert note.startswith(
        "human:fluency, row 2, 7, 9: -999, -1, 99 outside the other ratings (1 to 5)"
    )
    assert "empty these cells" in note


@pytest.mark.parametrize("values, noted", [("0,50,99,100", False), ("-1,0,1,1", True)])
def test_a_code_within_the_scale_is_a_rating(write, values, noted):
    path = write(text([[*row[:4], cell, row[5]] for row, cell in zip(ROWS, values.split(","))]))
    assert any("outside the other ratings" in line for line in said(path, "note")) == noted


def test_ratings_in_lists_are_unfolded(case):
    path = case("18_list_of_ratings.parquet")
    assert "human:fluency: a list of ratings is read as 3 raters, by position" in said(path, "note")
    mine = own_data(path)
    assert mine.ratings.query("item_id == 'index 0'")["score"].tolist() == [4, 5, 4]


def test_nested_annotations_are_unfolded_once_they_are_mapped(case):
    path = case("01_nested_annotations.jsonl")
    assert said(path)[0].endswith('human=expert_annotations"')
    columns = mapping(
        ["source=text,hypothesis=decoded,system=model_id,doc_id=id,human=expert_annotations"]
    )
    assert said(path, columns=columns) == []
    mine = own_data(path, columns=columns)
    assert mine.aspects == ["coherence", "fluency"]
    first = mine.ratings.query("item_id == 'line 1'").set_index(["aspect", "rater"])["score"]
    assert first["fluency"].to_dict() == {"1": 4, "2": 5, "3": 4}


def test_raters_who_contradict_each_other_are_named(case):
    (note,) = [line for line in said(case("25_rater_reversed.csv"), "note") if "overall" in line]
    assert note.startswith(
        "human:overall: raters r1 and r2 contradict each other (correlation -1.00)"
    )


@pytest.mark.parametrize(
    "first, second, expected",
    [
        ([1, 2, 3, 4, 5, 5], [10, 90, 30, 100, 0, 60], "a (1 to 5) and b (0 to 100)"),
        ([10, 90, 30, 100, 0, 60], [1, 2, 3, 4, 5, 5], "b (1 to 5) and a (0 to 100)"),
        ([1, 2, 3, 4, 5, 5], [1, 8, 10, 6, 9, 5], "a (1 to 5) and b (1 to 10)"),
        ([0, 1, 1, 0, 1, 0], [1, 2, 3, 4, 5, 5], "a (0 to 1) and b (1 to 5)"),
        ([-2, 2, 0, 1, -1, 0], [1, 2, 3, 4, 5, 5], "a (-2 to 2) and b (1 to 5)"),
        ([1, 2, 3, 4, 5, 5], [1, 1, 2, 3, 4, 2], None),
        ([1, 2, 3, 4, 5, 5], [40, 30, "", "", "", 50], None),  # too few to say
    ],
)
def test_raters_on_different_scales_are_named(write, first, second, expected):
    rows = [["s", f"text {i}", f"m{i}", *pair] for i, pair in enumerate(zip(first, second))]
    path = write(text(rows, ["source", "hypothesis", "system", "human:style:a", "human:style:b"]))
    notes = [line for line in said(path, "note") if "range" in line]
    assert notes == [
        f"human:style: the ratings of {expected} differ in their range, and their mean is taken: is it one "
        "scale?"
    ] * bool(expected)


@pytest.mark.parametrize("name", ["Human", "human"])
@pytest.mark.parametrize("cells", [["A text.", "Another."] * 2, [1, 2, 3, 4], [["a", "b"]] * 4])
def test_a_column_human_without_a_colon_is_no_rating(write, name, cells):
    found = [dict(zip(THEIRS, row)) | {name: cell} for row, cell in zip(ROWS, cells)]
    path = as_json_lines(write(""), found)
    assert f"{name}: not used" in said(path, "note", columns=MAPPED)
    plain = own_data(write(text(ROWS)))
    assert (
        own_data(path, columns=MAPPED)
        .human()
        .drop(columns="item_id")
        .equals(plain.human().drop(columns="item_id"))
    )
    # Without another column there is no rating.
    path = as_json_lines(write(""), [record | {"flu_a": "", "flu_b": ""} for record in found])
    only = {key: value for key, value in MAPPED.items() if ":" not in key}
    assert said(path, columns=only)[0].startswith(f"file: missing {FORM}")


@pytest.mark.parametrize(
    "hypothesis, reference, column",
    [
        ("图书馆九点开门。", "The library opens at nine.", "hypothesis"),
        ("The library opens.", "تفتح المكتبة في التاسعة", "references"),
        ("Die Bücherei öffnet.", "A library. ||| Библиотека откроется", "references"),
    ],
)
def test_texts_that_rouge_does_not_read_are_named(write, hypothesis, reference, column):
    path = write(changed((3, "hypothesis", hypothesis), (3, "references", reference)))
    noted = [line for line in said(path, "note") if "ROUGE" in line]
    assert noted == [
        f"{column}, row 3: ROUGE reads Latin letters and digits only: it gives these outputs no score"
    ]


def test_sources_are_read_by_rouge_where_there_is_no_reference(write):
    rows = [["Библиотека откроется.", "The library.", "one", "", str(i), ""] for i in (1, 2)]
    rows[1][2] = "two"
    assert (
        "source: ROUGE reads Latin letters and digits only: it gives these outputs no score"
        in said(write(text(rows)), "note")
    )


def test_ids_as_float_and_as_integer_are_one_document(case):
    path = case("26_ids_float_int.csv")
    assert "doc_id, row 2: a number such as 0.0 is read as 0, which is there too" in said(
        path, "note"
    )
    assert own_data(path).items["doc_id"].nunique() == 12


def test_the_first_message_names_the_parameter_and_the_files_columns(case):
    assert said(case("36_rating_names.csv")) == [
        f"file: missing source, hypothesis, system, {FORM}; the file has the columns article, model, "
        "summary, Fluency, Coherence (1-5). Rename them, or map them with the parameter `columns`: -p "
        'columns "source=COLUMN,hypothesis=COLUMN,system=COLUMN,human:fluency=Fluency"'
    ]
    columns = mapping(["source=article,hypothesis=summary,system=model,human:fluency=Fluency"])
    assert own_data(case("36_rating_names.csv"), columns=columns).aspects == ["fluency"]


def test_a_spreadsheet_export_with_semicolons_and_latin_1_is_read(write):
    rows = [[cell.replace("River", "Flüßchen") for cell in row] for row in ROWS]
    rows[0][4] = "3,5"
    path = write(text(rows, delimiter=";").encode("latin-1"))
    assert said(path) == []
    assert said(path, "note")[:2] == [
        "file: not UTF-8: read as Latin-1. If letters look wrong, save it as CSV UTF-8",
        "file: cells are separated by semicolons",
    ]
    mine = own_data(path)
    assert mine.items["hypothesis"][2] == "Flüßchen."
    assert mine.human()["fluency"].tolist() == [3.75, 5, 1, 1.5]  # (3.5 + 4) / 2


# Formats


def as_json_lines(path, found):
    path = path.with_suffix(".jsonl")
    path.write_text("".join(json.dumps(record) + "\n" for record in found), encoding="utf-8")
    return path


def as_parquet(path, found):
    pd.DataFrame(found).to_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def as_folder(path, found):
    from datasets import Dataset

    Dataset.from_list(found).save_to_disk(path.with_suffix(""))
    return path.with_suffix("")


def as_excel(path, found):
    pytest.importorskip("openpyxl")
    flat = [record | {"references": "|||".join(record["references"])} for record in found]
    with pd.ExcelWriter(path.with_suffix(".xlsx")) as book:
        pd.DataFrame(flat).to_excel(book, sheet_name="rated", index=False)
        pd.DataFrame({"more": [1]}).to_excel(book, sheet_name="other")
    return path.with_suffix(".xlsx")


def as_tabs(path, found):
    path.write_text("\ufeff" + text(ROWS, delimiter="\t", lineterminator="\r\n"), encoding="utf-8")
    return path


def as_utf_16(path, found):
    path.write_bytes(text(ROWS).encode("utf-16"))
    return path


FORMATS = [
    (as_json_lines, "line", 1),
    (as_parquet, "index", 0),
    (as_folder, "index", 0),
    (as_excel, "row", 2),
    (as_tabs, "row", 2),
    (as_utf_16, "row", 2),
]


@pytest.mark.parametrize("save, unit, begin", FORMATS)
def test_every_format_gives_what_the_csv_gives(write, save, unit, begin):
    path = write(text(ROWS))
    plain, mine = own_data(path), own_data(save(path, records()))
    assert mine.items["item_id"].tolist() == [f"{unit} {begin + i}" for i in range(4)]
    columns = [c for c in plain.items if c != "item_id"]
    assert mine.items[columns].to_dict("list") == plain.items[columns].to_dict("list")
    assert mine.ratings["score"].fillna(-1).tolist() == plain.ratings["score"].fillna(-1).tolist()


@pytest.mark.parametrize("save, unit, begin", FORMATS[:4])
def test_every_format_names_the_place_of_a_fault(write, save, unit, begin):
    found = records()
    found[2] |= {"hypothesis": None, ANN: "good"}
    path = save(write(""), [record | {ANN: str(record[ANN])} for record in found])
    assert said(path) == [
        f"hypothesis, {unit} {begin + 2}: an empty text: write it, or leave the row out",
        f"{ANN}, {unit} {begin + 2}: 'good' is not a number; leave the cell empty where there is no "
        "rating",
    ]


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
    "cells, noted",
    [
        ({(7, "hypothesis"): OPENS, (23, "hypothesis"): '"Bye" she said.'}, 7),
        ({(7, "hypothesis"): OPENS, (23, "hypothesis"): 'Bye she said."'}, 7),
        ({(7, "hypothesis"): OPENS, (23, "hypothesis"): 'Bye.""'}, None),
        ({(7, "hypothesis"): OPENS, (23, "hypothesis"): '"'}, 7),
        ({(7, "hypothesis"): OPENS, (8, "source"): 'Bye she said."'}, 7),
        ({(7, "source"): OPENS, (7, "hypothesis"): 'Bye she said."'}, 7),
        ({(7, "hypothesis"): OPENS}, 7),
        ({(37, "hypothesis"): OPENS}, 37),
        ({(7, "hypothesis"): OPENS, (23, "human:fluency"): "NA"}, 7),
        ({(7, "hypothesis"): '"Hello" he said.', (8, "hypothesis"): '"Bye"'}, 7),
        ({(7, "hypothesis"): 'He said "hello".', (8, "hypothesis"): '5" or 6"'}, 0),
    ],
)
def test_no_quotation_mark_of_an_unquoted_file_swallows_a_row(write, separator, end, cells, noted):
    path = write(unquoted(cells, separator, end))
    if noted is None:  # a doubled mark means that some cells are quoted
        assert said(path)[0].startswith("file: a quotation mark in row 7 is not closed")
        return
    note = f"file: quotation marks are read as text, because one in row {noted} is not closed"
    assert (note in said(path, "note")) == bool(noted)
    mine = own_data(path)
    assert mine.items["item_id"].tolist() == [f"row {i}" for i in range(2, 38)]
    for (row, column), cell in cells.items():
        if column in mine.items:
            assert mine.items[column][row - 2] == cell


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quoted_line_breaks_and_blank_lines_are_no_rows(write, end):
    long = (
        f"one, two, 3, 4{end}{end}one, two, 3, 4{end}" * 5000
    )  # longer than csv's default for a cell
    rows = [["A town.", f'A "town",{end}off', "one", "4"], ["A town.", long, "two", "2"]]
    rows += [[f"A, {i}", f'"{i}"', "one", "1"] for i in range(5)]
    path = write(text(rows, PLAIN, lineterminator=end) + end)
    mine = own_data(path)
    assert mine.items["hypothesis"].tolist() == [row[1] for row in rows]
    assert not any("quotation" in line for line in said(path, "note"))
    every = write(text(rows, PLAIN, quoting=csv.QUOTE_ALL))
    assert own_data(every).items["hypothesis"].tolist() == [row[1] for row in rows]


@pytest.mark.parametrize("separator", ["\t", ","])
@pytest.mark.parametrize(
    "cells, row",
    [
        ({(9, "hypothesis"): OPENS}, 9),
        ({(9, "hypothesis"): OPENS, (23, "hypothesis"): '"Bye" she said.'}, 9),
        ({(9, "hypothesis"): OPENS, (23, "hypothesis"): 'Bye she said."'}, 9),
        ({(37, "hypothesis"): OPENS}, 37),
        ({(9, "source"): OPENS, (9, "hypothesis"): 'Bye she said."'}, 9),
    ],
)
def test_an_open_quotation_mark_among_quoted_cells_is_refused(write, separator, cells, row):
    quoted = {(3, "hypothesis"): f'"a{separator} b"', (4, "hypothesis"): '"a ""b"""'}
    path = write(unquoted(quoted | cells, separator))
    assert said(path) == [
        f"file: a quotation mark in row {row} is not closed at the end of its cell. Write each mark that "
        "belongs to the text twice, and put the cell in quotation marks"
    ]


# Files that unpack to more than they seem to hold


@pytest.mark.parametrize("depth", [900, 100_000])
@pytest.mark.parametrize("opened, closed", [("[", "]"), ('{"a":', "}")])
def test_values_nested_too_deeply_are_refused_with_their_line(write, depth, opened, closed):
    deep = f'{{"source": {opened * depth}1{closed * depth}}}'
    path = write(f"{json.dumps(records()[0])}\n{deep}\n", "mine.jsonl")
    nested = "values are nested too deeply; expected texts, numbers, or lists and dicts of them"
    assert said(path) == [f"file: line 2: {nested}"]
    with pytest.raises(ValueError, match="mine.jsonl cannot be used"):
        own_data(path)
    assert said(write(f"[{deep}]", "mine.json")) == [f"file: {nested}"]


@pytest.mark.parametrize("parts", [1, 4])
def test_a_workbook_that_unpacks_to_too_much_is_refused(write, parts):
    path = as_excel(write(""), records())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for part in range(parts):
            archive.writestr(f"xl/worksheets/more{part}.xml", b" " * (120_000_000 // parts))
    assert said(path) == [
        "file: it unpacks to 120 MB; expected at most 100 MB. Export the sheet as CSV UTF-8"
    ]


def test_several_sheets_and_several_splits_are_named(write, tmp_path):
    from datasets import Dataset, DatasetDict

    path = as_excel(write(""), records())
    assert "file: 2 sheets: the first, 'rated', is read" in said(path, "note")
    one = Dataset.from_list(records())
    DatasetDict({"train": one, "test": one}).save_to_disk(tmp_path / "both")
    assert said(tmp_path / "both") == [
        "file: it has the splits train, test: name the folder of one"
    ]


def test_a_missing_package_is_named_with_what_to_install(write, monkeypatch):
    path = as_excel(write(""), records())
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match="openpyxl: `pip install openpyxl` .the extra `excel`."):
        check_own_data(path)


# Faults


@pytest.mark.parametrize(
    "content, expected",
    [
        (text([ROWS[0], ROWS[1][:2]]), "system, row 3: an empty text"),
        ("", "file: No columns to parse from file"),
        ("source,hypothesis,system\n\n,,\n", "file: there is no row below the header"),
        (b"\x1f\x8b\x08\0", "file: expected CSV, JSON Lines (.jsonl), Parquet, Excel (.xlsx) or"),
        (
            changed((3, "system", " ")),
            "system, row 3: an empty text: write it, or leave the row out",
        ),
        (
            changed((3, "system", "one")),
            "system, row 2, 3: several outputs of one system for one doc",
        ),
        (
            changed((2, ANN, "bad"), (5, ANN, "bad")),
            f"{ANN}, row 2, 5: 'bad' is not a number; leave",
        ),
        (changed((3, ANN, "4,500")), f"{ANN}, row 3: '4,500' is not a number"),
        (changed((3, ANN, "inf")), f"{ANN}, row 3: 'inf' is not a number"),
        (
            text([[*row[:4], "3", "3"] for row in ROWS]),
            "human:fluency: all ratings are 3, so nothing correlates with them: leave the column out",
        ),
        (text([[*row[:4], "", ""] for row in ROWS]), "human:fluency: there is no rating"),
        (
            text([row[:4] for row in ROWS], HEADER[:4]),
            f"file: missing {FORM}; the file has the columns",
        ),
        (
            text(ROWS, [*HEADER[:5], "human:fluency"]),
            "human:fluency: expected one column without a rater, or one for each rater",
        ),
        (
            text(ROWS, [*HEADER[:5], "human:doc_id"]),
            f"human:doc_id: expected {FORM}, and no aspect called item_id, doc_id, system_id",
        ),
        (
            text(ROWS, [*HEADER[:5], ANN]),
            f"file: several columns are called {ANN!r}: rename or remove",
        ),
        (
            text([ROWS[0], [*ROWS[3], "x"]]),
            "file: Error tokenizing data. C error: Expected 6 fields in line 3",
        ),
        (
            text(ROWS) + 'A lake,"A lake,one,,3,4\n',
            "file: a quotation mark in row 6 is not closed at the end of its cell. Write each mark",
        ),
        (
            text([[*row, "d"] for row in ROWS], [*HEADER, "doc_id"]),
            "doc_id: documents with several sources",
        ),
    ],
)
def test_every_fault_has_its_message(write, content, expected):
    path = write(content)
    faults = said(path)
    assert any(line.startswith(expected) for line in faults), faults
    with pytest.raises(ValueError) as caught:
        own_data(path)
    assert str(caught.value).splitlines()[0] == f"{path} cannot be used; {len(faults)} found:"
    assert all(line in str(caught.value) for line in faults)


@pytest.mark.parametrize("content", ['{"source": \n', "[1]\n", '"a"\n', "1\n"])
def test_a_line_that_is_no_object_is_named(write, content):
    path = write(f"{json.dumps(records()[0])}\n\n{content}", "mine.jsonl")
    assert said(path)[0].startswith("file: line 3: expected a JSON object")


@pytest.mark.parametrize("cell", ["NA", "n/a", "-", "\u2013", "NULL", "#N/A", " - "])
def test_words_for_nothing_are_missing_ratings(write, cell):
    path = write(changed((2, ANN, cell)))
    assert f"{ANN}, row 2: no rating" in said(path, "note")
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
    assert said(path, columns=MAPPED | {"hypothesis": "sumary"})[0] == (
        "hypothesis: no column 'sumary': did you mean 'summary'? There are article, summary, model, gold, "
        "flu_a, flu_b"
    )


@pytest.mark.parametrize(
    "given, expected",
    [
        ("hypothesis", "expected NAME=COLUMN, as hypothesis=summary"),
        ("hypothsis=summary", "did you mean 'hypothesis'"),
        ("summary=hypothesis", "the name used here comes first, hypothesis=summary"),
    ],
)
def test_a_wrong_mapping_is_refused(given, expected):
    with pytest.raises(ValueError, match="column mapping") as caught:
        mapping([given])
    assert expected in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OSError, match="mine.csv"):
        own_data(tmp_path / "mine.csv")
