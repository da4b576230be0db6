"""A file of your own: every fault has a message with its rows, and all are said at once."""

import csv
import io
import json
import sys

import pandas as pd
import pytest

from nlgjudge.data.own_files import check_own_data, lines, mapping, own_data

HEADER = ["source", "hypothesis", "system", "references", "human:fluency:ann", "human:fluency:bob"]
# Two documents (by their sources) and two systems; rows 2 to 5 of the file.
ROWS = [
    ["A town, far off.", "A town.", "one", "Far town. ||| A town", "3", "4"],
    ["A town, far off.", 'Town "far"\noff', "two", "Far town.", "5", "5"],
    ["A river.", "River.", "one", "The river.", "1", ""],
    ["A river.", "A boat.", "two", "The river.", "2", "1"],
]
FEW = "doc_id: only 2 documents: intervals will be wide"
# The second output holds a line break, so the file's lines run ahead of a spreadsheet's rows after row 3.
UNRATED = "human:fluency:bob, row 4 (line 5 of the file): no rating"


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
    def written(content):
        path = tmp_path / "mine.csv"
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
    assert said(path) == [] and said(path, "note") == [FEW, UNRATED]
    mine = own_data(path)
    assert (mine.name, mine.source, mine.notice, mine.aspects) == ("mine", "own", "", ["fluency"])
    assert mine.items["item_id"].tolist() == ["row 2", "row 3", "row 4", "row 5"]
    assert mine.items["doc_id"].tolist() == ["document 1"] * 2 + ["document 2"] * 2
    assert mine.items["hypothesis"].tolist() == [
        row[1] for row in ROWS
    ]  # quotes and line breaks kept
    assert mine.items["references"].tolist()[:2] == [["Far town.", "A town"], ["Far town."]]
    assert len(mine.ratings) == 8 and mine.ratings["score"].isna().sum() == 1
    assert mine.human()["fluency"].tolist() == [
        3.5,
        5,
        1,
        1.5,
    ]  # a missing rating is left out of a mean
    assert (
        list(mine.files) == ["mine.csv"] and mine.digest != own_data(write(text(ROWS[:3]))).digest
    )


def test_documents_may_be_named_and_texts_kept(write):
    header = [*HEADER, "doc_id", "context", "human:style"]
    rows = [[*row, f"d{i // 2}", "chat" * (i < 2), str(i)] for i, row in enumerate(ROWS)]
    mine = own_data(write(text(rows, header)))
    assert mine.items["doc_id"].tolist() == ["d0", "d0", "d1", "d1"]
    assert mine.items["context"].tolist() == ["chat", "chat", "", ""]
    assert mine.aspects == ["fluency", "style"]
    assert mine.ratings.query("aspect == 'style'")["rater"].unique().tolist() == ["mean"]


@pytest.mark.parametrize("delimiter, name", [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_other_separators_are_read_and_said(write, delimiter, name):
    rows = [[cell.replace("|||", "") for cell in row] for row in ROWS]
    path = write("\ufeff" + text(rows, delimiter=delimiter, lineterminator="\r\n"))
    assert f"file: read with cells parted by {name}" in said(path, "note")
    assert own_data(path).human()["fluency"].tolist() == [3.5, 5, 1, 1.5]


ENCODING = "not UTF-8 here: save the file as UTF-8"
NUMBER = "is not a finite number; leave the cell empty where there is no rating"
FORM = "human:ASPECT or human:ASPECT:RATER"
ANN = "human:fluency:ann"


@pytest.mark.parametrize(
    "content, expected",
    [
        ("", "file: there is nothing in it"),
        (
            "source,hypothesis,system,human:fluency\n\n,,,\n",
            "file: there is no row below the header",
        ),
        (text(ROWS).encode("utf-16"), "file: UTF-16: export the sheet as CSV UTF-8"),
        (
            b"\x1f\x8b\x08",
            "file: an older Excel file or a packed one: expected CSV, JSON Lines (.jsonl), "
            "Parquet, Excel (.xlsx) or a folder of `datasets`",
        ),
        (b"PAR1 and no more", "file: no Parquet file can be read"),
        (
            changed((4, "system", "Zoë")).encode("latin-1"),
            f"system, row 4 (line 5 of the file): {ENCODING}",
        ),
        (changed((4, "source", "\ufffd")), f"source, row 4 (line 5 of the file): {ENCODING}"),
        (
            changed((3, "system", " ")),
            "system, row 3: an empty text: write it, or leave the row out",
        ),
        (
            changed((2, "hypothesis", ""), (5, "hypothesis", "\n"), (3, "hypothesis", " ")),
            "hypothesis, row 2-3, 5: an empty text: write it, or leave the row out",
        ),
        (
            changed((3, "system", "one")),
            "system, row 2-3: several outputs of 'one' for 'document 1': keep one, or name systems apart",
        ),
        (
            changed((2, ANN, "bad"), (5, ANN, "bad")),
            f"{ANN}, row 2, 5 (lines 2, 6 of the file): 'bad' {NUMBER}",
        ),
        (
            changed((3, ANN, "4,5"), (2, ANN, "3.5")),
            f"{ANN}, row 3: '4,5' is not a finite number; the column has "
            "decimal points too, so write 4.5 for 4,5",
        ),
        (
            changed((3, ANN, "4,500")),
            f"{ANN}, row 3: '4,500' is not a finite number; it may mean 4.500 or 4500: "
            "write the one meant, without a comma",
        ),
        *[
            (changed((3, ANN, value)), f"{ANN}, row 3: {value!r} {NUMBER}")
            for value in ("good", "inf", "-Infinity", "1e999", "1_0", "1,234,567")
        ],
        *[
            (
                changed((3, name, value)),
                f"{name}, row 3: {value!r} stands for nothing: write the text, or leave "
                "the row out",
            )
            for name, value in (("system", "NA"), ("source", "-"), ("source", "n/a"))
        ],
        (
            text([[*row[:4], "3", "3"] for row in ROWS]),
            "human:fluency: all ratings are 3, so that nothing correlates with them: leave the column out",
        ),
        (text([[*row[:4], "", ""] for row in ROWS]), "human:fluency: there is no rating"),
        (
            text([row[:4] for row in ROWS], HEADER[:4]),
            f"file: there are no ratings: expected one or more columns called {FORM}",
        ),
        (
            text(ROWS, [*HEADER[:2], "System", *HEADER[3:]]),
            "system: the column is missing: is it 'System'? Then map system=System",
        ),
        (
            text(ROWS, ["article", *HEADER[1:]]),
            "source: the column is missing: rename yours, or map source=COLUMN",
        ),
        (
            text(ROWS, [*HEADER[:5], "human:fluency"]),
            "human:fluency: expected one column without a rater, or one for each rater",
        ),
        (
            text(ROWS, [*HEADER[:5], "human::bob"]),
            f"human::bob: expected {FORM}, and no aspect called item_id, doc_id, system_id",
        ),
        (
            text(ROWS, [*HEADER[:5], "human:doc_id"]),
            f"human:doc_id: expected {FORM}, and no aspect called item_id, doc_id, system_id",
        ),
        (text(ROWS, [*HEADER[:5], HEADER[4]]), f"{ANN}: several columns have this name"),
        (text(ROWS, [*HEADER[:5], ""]), "file: a column has no name"),
        (
            text([ROWS[0], ROWS[1][:5], *ROWS[2:]]),
            "row 3: 5 cells where the header has 6: a text that holds commas needs quotes",
        ),
        (
            text([*ROWS[:3], [*ROWS[3], "x"]]),
            "row 5 (line 6 of the file): 7 cells where the header has 6: a text that holds commas needs quotes",
        ),
        (
            text(ROWS) + 'A lake,"A lake,one,,3,4\n',
            "row 6 (line 7 of the file): no cells can be made out from here on (unexpected end of data): a quote "
            "does not close, or text follows it; a quote within a quoted text is written twice",
        ),
        (
            text([[*row, "d"] for row in ROWS], [*HEADER, "doc_id"]),
            "doc_id, row 2-5: 'd' has 2 sources",
        ),
    ],
)
def test_every_fault_has_its_message(write, content, expected):
    path = write(content)
    faults = said(path)
    assert any(line.startswith(expected) for line in faults)
    with pytest.raises(ValueError) as caught:
        own_data(path)
    assert str(caught.value).splitlines() == [
        f"{path} cannot be used; {len(faults)} found:",
        *faults,
    ]


@pytest.mark.parametrize("name", ["source", "system"])
def test_a_missing_column_causes_no_other_complaint(write, name):
    place = HEADER.index(name)
    path = write(
        text([row[:place] + row[place + 1 :] for row in ROWS], HEADER[:place] + HEADER[place + 1 :])
    )
    assert said(path) == [f"{name}: the column is missing: rename yours, or map {name}=COLUMN"]


def test_all_faults_are_said_at_once(write):
    path = write(
        changed(
            (2, "source", ""),
            (3, "human:fluency:ann", "x"),
            (3, "human:fluency:bob", "inf"),
            (5, "system", "one"),
        )
    )
    assert [line.split(": ")[0] for line in said(path)] == [
        "source, row 2",
        "system, row 4-5 (line 5 of the file)",
        "human:fluency:ann, row 3",
        "human:fluency:bob, row 3",
    ]


@pytest.mark.parametrize(
    "content, expected",
    [
        (
            text([row[:3] + row[4:] for row in ROWS], HEADER[:3] + HEADER[4:]),
            "references, row 2-5: none: lexical metrics compare with the source instead",
        ),
        (
            changed((3, "references", "")),
            "references, row 3: none: lexical metrics leave these items out",
        ),
        (
            changed((3, "source", "caf\u00c3\u00a9")),
            "source, row 3: looks like UTF-8 once read as something else",
        ),
        (
            text([[*row, "x"] for row in ROWS], [*HEADER, "contxt"]),
            f"contxt: not used; known are source, hypothesis, system, references, context, doc_id and {FORM}",
        ),
        (
            text([row[:2] + ["one"] + row[3:] for row in ROWS[::2]]),
            "system: one system: how the outputs of one document rank cannot be said",
        ),
        (
            text([[*row[:5], "2"] for row in ROWS]),
            "human:fluency:bob: always 2: this rater has no correlation",
        ),
        (
            changed((2, "human:fluency:bob", "90")),
            "human:fluency: raters use different ranges, and their plain mean is taken: ann 1 to 5, bob 1 to 90",
        ),
    ],
)
def test_what_is_worth_knowing_prevents_nothing(write, content, expected):
    path = write(content)
    assert expected in said(path, "note") and own_data(path).aspects == ["fluency"]


# Decimal commas: a comma before other than three digits cannot part thousands, nor can one after a zero.
@pytest.mark.parametrize(
    "cells, numbers",
    [
        (["4,5", "3", "1", ""], [4.5, 3, 1]),
        (["4,500", "3,25", "1", ""], [4.5, 3.25, 1]),
        (["0,500", "3", "1", ""], [0.5, 3, 1]),
        (["-1,5", "+2,5", "1", ""], [-1.5, 2.5, 1]),
    ],
)
def test_decimal_commas_are_read_where_they_can_mean_one_thing(write, cells, numbers):
    path = write(text([[*row[:4], cell, row[5]] for row, cell in zip(ROWS, cells)]))
    read = own_data(path).ratings.query("rater == 'ann'")["score"]
    assert read.tolist()[:3] == numbers and pd.isna(read.iloc[3])
    commas = [cell for cell in cells if "," in cell]
    notes = [line for line in said(path, "note") if "read with decimal commas" in line]
    assert notes[0].endswith(f"{commas[0]!r} is {commas[0].replace(',', '.')}")


@pytest.mark.parametrize(
    "cell", ["NA", "n/a", "N/A", "-", "\u2013", "nan", "NULL", "None", "#N/A", " - "]
)
def test_words_for_nothing_are_missing_ratings_and_said(write, cell):
    path = write(changed((2, ANN, cell), (3, ANN, "4,5")))
    assert f"{ANN}, row 2: {cell.strip()!r} is read as no rating" in said(path, "note")
    assert own_data(path).human()["fluency"].tolist() == [
        4,
        4.75,
        1,
        1.5,
    ]  # the first is bob's 4 alone


def test_words_for_nothing_in_texts(write):
    path = write(changed((2, "hypothesis", "n/a"), (3, "references", "NA")))
    notes = said(path, "note")
    assert (
        "hypothesis, row 2: an output that says 'n/a' is judged as such: leave the row out where there "
        "is no output" in notes
    )
    assert "references, row 3: 'NA' is read as no text" in notes
    assert own_data(path).items["references"].tolist()[1] == []


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
    book = pytest.importorskip("openpyxl").Workbook()
    sheet = book.active
    sheet.append([])  # an empty row above the header: rows are numbered as the sheet numbers them
    sheet.append(HEADER)
    for record in found:
        sheet.append(
            ["|||".join(cell) if isinstance(cell, list) else cell for cell in record.values()]
        )
    book.create_sheet("more")
    book.save(path.with_suffix(".xlsx"))
    return path.with_suffix(".xlsx")


# The third output (a line break in the second) stands in line 3, at index 2, and in row 5 of the sheet.
FORMATS = [
    (as_json_lines, "line", 1),
    (as_parquet, "index", 0),
    (as_folder, "index", 0),
    (as_excel, "row", 3),
]


@pytest.mark.parametrize("save, unit, begin", FORMATS)
def test_every_format_gives_what_the_csv_gives(write, save, unit, begin):
    path = write(text(ROWS))
    plain, mine = own_data(path), own_data(save(path, records()))
    assert mine.items["item_id"].tolist() == [f"{unit} {begin + i}" for i in range(4)]
    columns = [c for c in plain.items if c != "item_id"]
    assert mine.items[columns].to_dict("list") == plain.items[columns].to_dict("list")
    assert mine.ratings["score"].fillna(-1).tolist() == plain.ratings["score"].fillna(-1).tolist()
    assert mine.aspects == plain.aspects and mine.files and mine.source == "own"


@pytest.mark.parametrize("save, unit, begin", FORMATS)
def test_every_format_names_the_place_of_a_fault(write, save, unit, begin):
    found = records()
    found[2] |= {"hypothesis": None, "human:fluency:ann": "good"}
    path = save(write(""), [record | {ANN: str(record[ANN])} for record in found])
    assert said(path) == [
        f"hypothesis, {unit} {begin + 2}: an empty text: write it, or leave the row out",
        f"{ANN}, {unit} {begin + 2}: 'good' {NUMBER}",
    ]


GOOD_LINE = json.dumps(records()[0])


@pytest.mark.parametrize(
    "content, expected",
    [
        (f'{GOOD_LINE}\n\n{{"source": \n', "line 3: no JSON object (Expecting value, column 12)"),
        (f"{GOOD_LINE}\n[1]\n", "line 2: expected a JSON object"),
        (
            f'{GOOD_LINE}\n{{"source": "a", "source": "b"}}\n',
            "line 2: no JSON object (the name 'source' stands in it twice)",
        ),
        (f"[{GOOD_LINE}]", "file: a JSON list: expected JSON Lines, an object in each line"),
        (
            f'{GOOD_LINE}\n{{"hypothesis": {{"text": "a"}}}}',
            "hypothesis, line 2: expected a text or a number, got an object",
        ),
        (f'{GOOD_LINE}\n{{"hypothesis": "\\ud800"}}', f"hypothesis, line 2: {ENCODING}"),
        (
            f'{GOOD_LINE}\n{{"hypothesis": ["a", "b"]}}',
            "hypothesis, line 2: a list where one text or number is expected",
        ),
        ("\n", "file: there is nothing in it"),
    ],
)
def test_faults_of_json_lines_have_their_line(tmp_path, content, expected):
    path = tmp_path / "mine.jsonl"
    path.write_text(content, encoding="utf-8")
    assert any(line.startswith(expected) for line in said(path)), said(path)


def test_a_text_may_hold_every_line_separator(tmp_path):
    """Only a line feed ends a line of JSON Lines; U+2028 within a text does not."""
    found = records()
    found[0]["hypothesis"] = "one\u2028two\u0085three\nfour"
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in found), encoding="utf-8")
    assert own_data(path).items["hypothesis"].iloc[0] == found[0]["hypothesis"]
    assert own_data(path).items["item_id"].tolist()[-1] == "line 4"


def test_several_splits_are_named(tmp_path):
    from datasets import Dataset, DatasetDict

    one = Dataset.from_list(records())
    DatasetDict({"train": one, "test": one}).save_to_disk(tmp_path / "both")
    folders = f"{tmp_path / 'both' / 'train'}, {tmp_path / 'both' / 'test'}"
    assert said(tmp_path / "both") == [f"file: 2 splits: name the folder of one, as {folders}"]
    assert len(own_data(tmp_path / "both" / "test").items) == 4
    (tmp_path / "empty").mkdir()
    assert said(tmp_path / "empty")[0].startswith("file: no data set that `save_to_disk`")


def test_a_missing_package_is_named_with_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert said(write(b"PK\x03\x04\x14")) == [
        "file: reading Excel needs the package openpyxl: `pip install openpyxl` (the extra `excel`), or "
        "export the sheet as CSV UTF-8"
    ]


def test_a_damaged_spreadsheet_is_said(write):
    pytest.importorskip("openpyxl")
    assert said(write(b"PK\x03\x04\x14"))[0].startswith("file: no Excel sheet can be read")


THEIRS = ["article", "summary", "model", "gold", "flu_a", "flu_b"]
MAPPED = dict(zip(HEADER, THEIRS))


def test_columns_of_other_names_are_mapped(write):
    plain = own_data(write(text(ROWS)))
    path = write(text(ROWS, THEIRS))
    mine = own_data(path, columns=MAPPED)
    assert mine.items.equals(plain.items) and mine.ratings.equals(plain.ratings)
    assert [line for line in said(path, "note", columns=MAPPED) if "not used" in line] == []
    # One column may serve two purposes, and keeps its own name then.
    both = own_data(path, columns=MAPPED | {"context": "article"})
    assert both.items["context"].tolist() == both.items["source"].tolist()


def test_a_fault_names_the_files_own_column(write):
    rows = [list(row) for row in ROWS]
    rows[0][1] = ""
    path = write(text(rows, THEIRS))
    assert said(path, columns=MAPPED) == [
        "hypothesis (summary), row 2: an empty text: write it, or leave the row out"
    ]
    wrong = MAPPED | {"hypothesis": "sumary"}
    assert said(path, columns=wrong) == [
        "hypothesis: no column 'sumary': did you mean 'summary'? There are article, summary, model, "
        "gold, flu_a, flu_b"
    ]


def test_a_shadowed_column_is_said(write):
    path = write(text([[*row, "other"] for row in ROWS], [*HEADER, "summary"]))
    mine = own_data(path, columns={"hypothesis": "summary"})
    assert set(mine.items["hypothesis"]) == {"other"}
    assert (
        "file: the mapping takes hypothesis from 'summary'; the column of this name is not used"
        in said(path, "note", columns={"hypothesis": "summary"})
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
