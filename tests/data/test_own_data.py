"""A file of your own: every fault has a message with its rows, and all are said at once."""

import csv
import io

import pytest

from nlgjudge.data.own_data import check_own_data, lines, own_data

HEADER = ["source", "hypothesis", "system", "references", "human:fluency:ann", "human:fluency:bob"]
# Two documents (by their sources) and two systems; rows 2 to 5 of the file.
ROWS = [["A town, far off.", "A town.", "one", "Far town. ||| A town", "3", "4"],
        ["A town, far off.", "Town \"far\"\noff", "two", "Far town.", "5", "5"],
        ["A river.", "River.", "one", "The river.", "1", ""],
        ["A river.", "A boat.", "two", "The river.", "2", "1"]]
FEW = "doc_id: only 2 documents: intervals will be wide"
UNRATED = "human:fluency:bob, row 4: no rating"


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


def said(path, kind="problem"):
    findings = check_own_data(path)
    return lines(findings[findings["kind"] == kind])


def test_a_good_file_is_read_whole(write):
    path = write(text(ROWS))
    assert said(path) == [] and said(path, "note") == [FEW, UNRATED]
    mine = own_data(path)
    assert (mine.name, mine.source, mine.notice, mine.aspects) == ("mine", "own", "", ["fluency"])
    assert mine.items["item_id"].tolist() == ["row 2", "row 3", "row 4", "row 5"]
    assert mine.items["doc_id"].tolist() == ["document 1"] * 2 + ["document 2"] * 2
    assert mine.items["hypothesis"].tolist() == [row[1] for row in ROWS]  # quotes and line breaks kept
    assert mine.items["references"].tolist()[:2] == [["Far town.", "A town"], ["Far town."]]
    assert len(mine.ratings) == 8 and mine.ratings["score"].isna().sum() == 1
    assert mine.human()["fluency"].tolist() == [3.5, 5, 1, 1.5]  # a missing rating is left out of a mean
    assert list(mine.files) == ["mine.csv"] and mine.digest != own_data(write(text(ROWS[:3]))).digest


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


EXPORT = "file: a spreadsheet's own format or UTF-16: export the sheet as CSV UTF-8"
ENCODING = "not UTF-8 here: save the file as CSV UTF-8"
NUMBER = "is not a finite number; leave the cell empty where there is no rating"
FORM = "human:ASPECT or human:ASPECT:RATER"
ANN = "human:fluency:ann"


@pytest.mark.parametrize("content, expected", [
    ("", "file: there is no header"),
    ("source,hypothesis,system,human:fluency\n\n,,,\n", "file: there is no row below the header"),
    (b"PK\x03\x04\x14", EXPORT),
    (text(ROWS).encode("utf-16"), EXPORT),
    (changed((4, "system", "Zoë")).encode("latin-1"), f"system, row 4: {ENCODING}"),
    (changed((4, "source", "\ufffd")), f"source, row 4: {ENCODING}"),
    (changed((3, "system", " ")), "system, row 3: an empty text: write it, or leave the row out"),
    (changed((2, "hypothesis", ""), (5, "hypothesis", "\n"), (3, "hypothesis", " ")),
     "hypothesis, row 2-3, 5: an empty text: write it, or leave the row out"),
    (changed((3, "system", "one")),
     "system, row 2-3: several outputs of 'one' for 'document 1': keep one, or name systems apart"),
    (changed((2, ANN, "n/a"), (5, ANN, "n/a")), f"{ANN}, row 2, 5: 'n/a' {NUMBER}"),
    (changed((3, ANN, "4,5")), f"{ANN}, row 3: '4,5' is not a finite number; write 4.5 for 4,5"),
    *[(changed((3, ANN, value)), f"{ANN}, row 3: {value!r} {NUMBER}")
      for value in ("good", "inf", "-Infinity", "1e999", "nan", "1_0")],
    (text([[*row[:4], "3", "3"] for row in ROWS]),
     "human:fluency: all ratings are 3, so that nothing correlates with them: leave the column out"),
    (text([[*row[:4], "", ""] for row in ROWS]), "human:fluency: there is no rating"),
    (text([row[:4] for row in ROWS], HEADER[:4]),
     f"file: there are no ratings: expected one or more columns called {FORM}"),
    (text(ROWS, [*HEADER[:2], "System", *HEADER[3:]]), "system: the column is missing; is it 'System'?"),
    (text(ROWS, ["article", *HEADER[1:]]), "source: the column is missing"),
    (text(ROWS, [*HEADER[:5], "human:fluency"]),
     "human:fluency: expected one column without a rater, or one for each rater"),
    (text(ROWS, [*HEADER[:5], "human::bob"]),
     f"human::bob: expected {FORM}, and no aspect called item_id, doc_id, system_id"),
    (text(ROWS, [*HEADER[:5], "human:doc_id"]),
     f"human:doc_id: expected {FORM}, and no aspect called item_id, doc_id, system_id"),
    (text(ROWS, [*HEADER[:5], HEADER[4]]), f"{ANN}: several columns have this name"),
    (text(ROWS, [*HEADER[:5], ""]), "file: a column has no name"),
    (text([ROWS[0], ROWS[1][:5], *ROWS[2:]]),
     "row 3: 5 cells where the header has 6: a text that holds commas needs quotes"),
    (text([*ROWS[:3], [*ROWS[3], "x"]]),
     "row 5: 7 cells where the header has 6: a text that holds commas needs quotes"),
    (text(ROWS) + 'A lake,"A lake,one,,3,4\n',
     "row 6: no cells can be made out from here on (unexpected end of data): a quote does not close, or text "
     "follows it; a quote within a quoted text is written twice"),
    (text([[*row, "d"] for row in ROWS], [*HEADER, "doc_id"]), "doc_id, row 2-5: 'd' has 2 sources"),
])
def test_every_fault_has_its_message(write, content, expected):
    path = write(content)
    assert expected in said(path)
    with pytest.raises(ValueError) as caught:
        own_data(path)
    assert str(caught.value).splitlines() == [f"{path} cannot be used; {len(said(path))} found:", *said(path)]


@pytest.mark.parametrize("name", ["source", "system"])
def test_a_missing_column_causes_no_other_complaint(write, name):
    place = HEADER.index(name)
    path = write(text([row[:place] + row[place + 1:] for row in ROWS], HEADER[:place] + HEADER[place + 1:]))
    assert said(path) == [f"{name}: the column is missing"]


def test_all_faults_are_said_at_once(write):
    path = write(changed((2, "source", ""), (3, "human:fluency:ann", "x"), (3, "human:fluency:bob", "inf"),
                         (5, "system", "one")))
    assert [line.split(": ")[0] for line in said(path)] == [
        "source, row 2", "system, row 4-5", "human:fluency:ann, row 3", "human:fluency:bob, row 3"]


@pytest.mark.parametrize("content, expected", [
    (text([row[:3] + row[4:] for row in ROWS], HEADER[:3] + HEADER[4:]),
     "references, row 2-5: none: lexical metrics compare with the source instead"),
    (changed((3, "references", "")), "references, row 3: none: lexical metrics leave these items out"),
    (changed((3, "source", "caf\u00c3\u00a9")),
     "source, row 3: looks like UTF-8 once read as something else"),
    (text([[*row, "x"] for row in ROWS], [*HEADER, "contxt"]),
     f"contxt: not used; known are source, hypothesis, system, references, context, doc_id and {FORM}"),
    (text([row[:2] + ["one"] + row[3:] for row in ROWS[::2]]),
     "system: one system: how the outputs of one document rank cannot be said"),
    (text([[*row[:5], "2"] for row in ROWS]), "human:fluency:bob: always 2: this rater has no correlation"),
    (changed((2, "human:fluency:bob", "90")),
     "human:fluency: raters use different ranges, and their plain mean is taken: ann 1 to 5, bob 1 to 90"),
])
def test_what_is_worth_knowing_prevents_nothing(write, content, expected):
    path = write(content)
    assert expected in said(path, "note") and own_data(path).aspects == ["fluency"]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OSError, match="mine.csv"):
        own_data(tmp_path / "mine.csv")
