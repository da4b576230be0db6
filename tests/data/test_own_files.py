"""Files of one's own: formats, what other people's files hold, and a message for every fault."""

import csv
import io
import json
import sys

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
    both = write(pd.read_csv(path).assign(form=lambda frame: frame["worker"]).to_csv(index=False))
    assert said(both) == [
        "system: several outputs of one system for one document: keep one. If each row is one rater's, "
        "name the rater's column (`rater`, or map rater=COLUMN), or give each rater a column "
        "human:ASPECT:RATER"
    ]
    assert own_data(both, columns={"rater": "worker"}).human().equals(mine.human())


def test_a_rater_may_have_missed_an_output(write):
    header = ["source", "hypothesis", "system", "rater", "human:fluency"]
    rows = [["s", "t", "one", "a", "4"], ["s", "t", "one", "b", "2"], ["s", "u", "two", "a", "5"]]
    mine = own_data(write(text(rows, header)))
    assert mine.human()["fluency"].tolist() == [3, 5]  # (4 + 2) / 2, and a's 5 alone
    assert mine.items["item_id"].tolist() == ["row 2", "row 4"]


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
            "file: Error tokenizing data. C error: EOF inside string",
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
