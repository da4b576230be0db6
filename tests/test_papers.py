"""Printed tables as typed, against rows read from the papers' own text.

Whole rows are given in the order of the paper's columns, so that a value in a wrong
column or under a wrong coefficient shows.
"""

import shutil
from itertools import product

import pytest

import nlgjudge as nj
from nlgjudge.data.paths import root
from nlgjudge.ledger.printed import KEY, published, tables
from nlgjudge.papers import folders

SUMMEVAL = ["coherence", "consistency", "fluency", "relevance"]
CHATGPT = ["coherence", "relevance", "consistency", "fluency", "AVG"]  # ChatGPT study's order
NEWSROOM = ["coherence", "relevance", "informativeness", "fluency", "AVG"]
TOPICAL = ["naturalness", "coherence", "engagingness", "groundedness", "AVG"]
COASCORE = ["naturalness", "understandability", "interest", "context"]
RHO_TAU, R_RHO = ["spearman", "kendall"], ["pearson", "spearman"]
R_RHO_TAU = ["pearson", "spearman", "kendall"]
BAGEL = ["informativeness", "naturalness", "quality", "AVG"]
STUDY = ["spearman", "pearson", "kendall"]


def grid(datasets, aspects, levels, coefficients):
    """Keys of the columns in printed order; several datasets or levels are separated by blanks."""
    return list(product(datasets.split(), aspects, levels.split(), coefficients))


def methods(dataset, aspects, level):
    """Pearson at a level and Kendall within documents, side by side for each aspect."""
    return [
        (dataset, aspect, *method)
        for aspect in aspects
        for method in ((level, "pearson"), ("sample", "kendall"))
    ]


QAGS = [
    (d, a, "dataset", c)
    for d, a in (("qags_cnn", "consistency"), ("qags_xsum", "consistency"), ("qags", "AVG"))
    for c in R_RHO_TAU
]
TABLES = {  # cells in all, and the columns in printed order
    "geval table1": (140, grid("summeval", [*SUMMEVAL, "AVG"], "sample", RHO_TAU)),
    "geval table2": (80, grid("topical_chat", TOPICAL, "dataset", R_RHO)),
    "geval table3": (99, QAGS),
    "geval_v1 table1": (130, grid("summeval", [*SUMMEVAL, "AVG"], "sample", RHO_TAU)),
    "geval_v1 table2": (80, grid("topical_chat", TOPICAL, "dataset", R_RHO)),
    "geval_v1 table3": (99, QAGS),
    "chatgpt table1": (195, grid("summeval", CHATGPT, "sample", STUDY)),
    "chatgpt table2": (195, grid("newsroom", NEWSROOM, "sample", STUDY)),
    "chatgpt table3": (78, grid("realsumm", ["pyramid_recall"], "sample dataset", STUDY)),
    "chatgpt table4": (195, grid("summeval", CHATGPT, "dataset", STUDY)),
    "chatgpt table5": (195, grid("newsroom", NEWSROOM, "dataset", STUDY)),
    "chatgpt table6": (72, grid("openmeva", ["overall"], "sample dataset", STUDY)),
    "chatgpt table7": (156, grid("bagel", BAGEL, "dataset", STUDY)),
    "coascore table2": (
        120,
        grid("openmeva bagel iwslt14 topical_chat", ["overall"], "dataset", R_RHO_TAU),
    ),
    "coascore table3": (45, grid("summeval", [*SUMMEVAL, "AVG"], "dataset", ["spearman"])),
    "coascore table4": (45, grid("topical_chat", [*COASCORE, "AVG"], "dataset", ["spearman"])),
    "coascore table5": (25, grid("topical_chat", [*COASCORE, "overall"], "dataset", ["spearman"])),
    "coascore table6": (18, grid("openmeva", ["overall"], "dataset", R_RHO_TAU)),
    "coascore table12": (108, grid("summeval", SUMMEVAL, "dataset", R_RHO_TAU)),
    "coascore table13": (108, grid("topical_chat", COASCORE, "dataset", R_RHO_TAU)),
    "closer_look table1": (56, methods("summeval", SUMMEVAL, "dataset")),
    "closer_look table2": (48, methods("topical_chat", TOPICAL[:4], "dataset")),
    "closer_look table3": (24, methods("topical_chat", TOPICAL[:4], "dataset")),
    "closer_look table4": (56, methods("topical_chat", TOPICAL[:4], "sample")),
    "closer_look table5": (36, grid("summeval", SUMMEVAL, "dataset", ["pearson"])),
    "closer_look table6": (24, grid("summeval", SUMMEVAL, "dataset", ["pearson"])),
}
# Below each table and where it stands, whole rows. The extraction of the ChatGPT study lost the first two columns of
# its Table 3 but for two cells that section 4.3 prints.
ROWS = """
geval table1: EMNLP 2023, section 3.1
ROUGE-1 | 0.167 0.126 0.160 0.130 0.115 0.094 0.326 0.252 0.192 0.150
G-EVAL-4 | 0.582 0.457 0.507 0.425 0.506 0.455 0.547 0.433 0.514 0.418
G-EVAL-4 - Description | 0.513 0.424 0.421 0.344 0.447 0.373 0.479 0.388 0.479 0.377
GPTScore | 0.434 – 0.449 – 0.403 – 0.381 – 0.417 –
geval table2: EMNLP 2023, section 3.3
ROUGE-L | 0.176 0.146 0.193 0.203 0.295 0.300 0.310 0.327 0.243 0.244
USR | 0.337 0.325 0.416 0.377 0.456 0.465 0.222 0.447 0.358 0.403
G-EVAL-4 | 0.549 0.565 0.594 0.605 0.627 0.631 0.531 0.551 0.575 0.588
geval table3: EMNLP 2023, section 3.6
ROUGE-L | 0.357 0.324 0.254 0.024 -0.011 -0.009 0.190 0.156 0.122
QAGS | 0.545 - - 0.175 - - 0.375 - -
G-EVAL-4 | 0.631 0.685 0.591 0.558 0.537 0.472 0.599 0.611 0.525
geval_v1 table1: arXiv v1, section 3.1
BERTScore | 0.284 0.211 0.110 0.090 0.193 0.158 0.312 0.243 0.225 0.175
G-EVAL-4 | 0.582 0.457 0.507 0.425 0.455 0.378 0.547 0.433 0.514 0.418
G-EVAL-4 - CoT | 0.564 0.454 0.493 0.413 0.403 0.334 0.538 0.427 0.500 0.407
geval_v1 table2: arXiv v1, section 4
BLEU-4 | 0.180 0.175 0.131 0.235 0.232 0.316 0.213 0.310 0.189 0.259
UniEval | 0.455 0.330 0.602 0.455 0.573 0.430 0.577 0.453 0.552 0.417
G-EVAL-3.5 | 0.532 0.539 0.519 0.544 0.660 0.691 0.586 0.567 0.574 0.585
geval_v1 table3: arXiv v1, section 4
ROUGE-2 | 0.459 0.418 0.333 0.097 0.083 0.068 0.278 0.250 0.200
FactCC | 0.416 0.484 0.376 0.297 0.259 0.212 0.356 0.371 0.294
BARTScore | 0.735 0.680 0.557 0.184 0.159 0.130 0.459 0.420 0.343
chatgpt table1: section 4, above 4.1
ROUGE-1 | 0.167 0.160 0.126 0.326 0.359 0.252 0.160 0.224 0.130 0.115 0.158 0.094 0.192 0.225 0.150
BARTScore+CNN | 0.448 0.458 0.342 0.356 0.369 0.273 0.382 0.422 0.315 0.356 0.407 0.292 0.385 0.414 0.305
ChatGPT (Stars w/ ref) | 0.474 0.491 0.407 0.430 0.457 0.378 0.403 0.489 0.375 0.339 0.409 0.319 0.411 0.461 0.370
chatgpt table2: section 4.3
ROUGE-2 | 0.026 -0.108 0.009 0.091 -0.056 0.065 0.079 -0.087 0.052 0.048 -0.101 0.032 0.061 -0.088 0.092
MoverScore | 0.161 0.008 0.127 0.195 0.077 0.157 0.188 0.045 0.151 0.120 -0.008 0.086 0.166 0.030 0.130
ChatGPT (DA w/o ref) | 0.469 0.487 0.405 0.461 0.587 0.392 0.578 0.645 0.498 0.507 0.524 0.427 0.504 0.561 0.430
chatgpt table3: section 4.3
ROUGE-1 | 0.498 ? 0.408 0.533 0.555 0.383
ROUGE-2 | ? ? 0.353 0.514 0.513 0.369
BARTScore+CNN+Para | ? ? 0.374 0.499 0.515 0.357
ChatGPT (Stars w/ ref) | 0.195 ? 0.174 0.224 0.261 0.181
chatgpt table4: section 4.3
ROUGE-L | 0.141 0.148 0.100 0.284 0.318 0.204 0.109 0.152 0.086 0.079 0.132 0.061 0.153 0.188 0.113
PRISM | 0.286 0.281 0.204 0.280 0.297 0.202 0.323 0.297 0.256 0.236 0.248 0.184 0.281 0.281 0.212
ChatGPT (DA w/ ref) | 0.418 0.426 0.327 0.494 0.506 0.389 0.363 0.507 0.315 0.237 0.329 0.203 0.378 0.442 0.308
chatgpt table5: section 4.3
ROUGE-L | 0.079 -0.010 0.055 0.101 0.031 0.069 0.136 0.018 0.098 0.045 -0.030 0.029 0.090 0.002 0.063
BARTScore | 0.656 0.666 0.495 0.588 0.700 0.439 0.645 0.710 0.485 0.615 0.610 0.464 0.626 0.671 0.471
ChatGPT (Stars w/o ref) | 0.370 0.374 0.294 0.422 0.444 0.343 0.518 0.527 0.423 0.381 0.362 0.302 0.423 0.427 0.341
chatgpt table6: section 4.4
ROUGE-1 | 0.014 0.020 0.013 -0.023 -0.010 -0.016
PPL | 0.324 0.330 0.265 0.306 0.255 0.213
ChatGPT (Stars w/o ref) | 0.472 0.490 0.427 0.415 0.439 0.342
chatgpt table7: section 4.5, above its text
ROUGE-1 | 0.092 0.093 0.073 0.265 0.274 0.206 0.235 0.234 0.184 0.197 0.200 0.154
ChatGPT (DA w/o ref) | - - - 0.243 0.293 0.202 0.310 0.319 0.260 - - -
ChatGPT (DA w/ ref) | 0.247 0.255 0.198 0.305 0.344 0.248 0.269 0.343 0.215 0.274 0.314 0.220
coascore table2: section 4.1
BLEU | -0.006 -0.012 -0.009 0.063 0.022 0.016 0.328 0.316 0.220 0.228 0.293 0.205
LLMScore_CoT | 0.333 0.327 0.271 0.352 0.262 0.225 0.564 0.566 0.446 0.610 0.588 0.461
CoAScore(n=20) | 0.414 0.411 0.315 0.393 0.254 0.205 0.592 0.610 0.474 0.634 0.641 0.479
coascore table3: section 4.5
BLEU | 0.110 0.071 0.050 0.248 0.120
BERTScore | 0.293 0.125 0.139 0.361 0.230
CoAScore(n=10) | 0.541 0.339 0.367 0.478 0.431
coascore table4: section 4.5
METEOR | 0.194 0.223 0.406 0.274 0.274
LLMScore | 0.514 0.410 0.549 0.501 0.494
CoAScore(n=20) | 0.596 0.542 0.595 0.553 0.572
coascore table5: section 4.6
LLMScore | 0.514 0.410 0.549 0.501 0.592
CoAScore_inter | 0.494 0.500 0.566 0.399 0.628
CoAScore(n=5) | 0.587 0.531 0.546 0.544 0.625
coascore table6: section 4.6
CoAScore_average (AC=5) | 0.316 0.315 0.238
CoAScore (AC=10) | 0.408 0.414 0.304
CoAScore_average (AC=20) | 0.402 0.401 0.288
coascore table12: appendix A.2
ROUGE | 0.183 0.172 0.121 0.159 0.142 0.112 0.122 0.113 0.087 0.268 0.270 0.193
BERTScore | 0.308 0.293 0.207 0.151 0.125 0.098 0.182 0.139 0.108 0.370 0.362 0.261
CoAScore(n=5) | 0.491 0.499 0.397 0.447 0.354 0.303 0.481 0.379 0.340 0.450 0.420 0.339
coascore table13: appendix A.2
BLEU | 0.184 0.171 0.123 0.212 0.207 0.156 0.242 0.305 0.217 0.153 0.243 0.175
BARTScore | 0.213 0.213 0.148 0.220 0.207 0.153 0.412 0.436 0.308 0.261 0.275 0.192
CoAScore(n=10) | 0.541 0.571 0.457 0.405 0.530 0.432 0.432 0.507 0.420 0.530 0.545 0.434
closer_look table1: section 3.1
GPT-4, score only | 0.581 0.463 0.575 0.419 0.6 0.457 0.599 0.409
score only (3.2) | 0.344 0.248 0.328 0.185 0.361 0.177 0.353 0.248
analyze-rate | 0.635 0.476 0.537 0.34 0.479 0.302 0.444 0.305
closer_look table2: section 3.2
auto CoT, score only | 0.393 0.358 0.468 0.391 0.549 0.513 0.311 0.566
free text | 0.464 0.476 0.524 0.426 0.611 0.557 0.563 0.666
rate-explain | 0.524 0.47 0.477 0.416 0.567 0.524 0.58 0.693
analyze-rate | 0.573 0.47 0.486 0.416 0.628 0.524 0.725 0.693
closer_look table3: appendix C
score only | 0.393 0.358 0.468 0.391 0.549 0.513 0.311 0.566
auto CoT, rate-explain | 0.554 0.478 0.512 0.429 0.613 0.566 0.555 0.664
closer_look table4: appendix E
GPT-4, auto CoT, score only | 0.549 - 0.594 - 0.627 - 0.531 -
rate-explain | 0.621 0.512 0.472 0.425 0.61 0.509 0.771 0.663
closer_look table5: appendix F
T = 0.3, auto CoT, score only | 0.356 0.290 0.261 0.263
T = 0.7, rate-explain | 0.526 0.468 0.414 0.485
T = 1.0, analyze-rate | 0.635 0.534 0.479 0.444
closer_look table6: appendix F
human annotator, rate-explain | 0.526 0.468 0.414 0.485
HHH, analyze-rate | 0.596 0.493 0.475 0.406
"""  # noqa: E501
EMPTY = {"–": "dash", "-": "dash", "?": "lost"}  # as printed or extracted, and what the note says


CHECKED = {key.split()[0] for key in TABLES}  # another paper may have no rows above
SHORT = {"closer_look"}  # papers that print 0.6 for 0.600


def checked(without=()):
    """The cells of the papers of which rows are given above."""
    cells = published()
    return cells[cells["paper"].isin(CHECKED - {*without})]


def test_every_table_and_cell_is_there():
    assert [" ".join(key) for key in tables() if key[0] in CHECKED] == list(TABLES)
    sizes = checked().groupby(["paper", "artefact"]).size()
    assert {" ".join(key): size for key, size in sizes.items()} == {
        key: count for key, (count, _) in TABLES.items()
    }


def general_rules(cells):
    """What has to hold of every paper's printed correlations, however many there are."""
    repeated = cells.duplicated(["paper", "artefact", *KEY])
    assert not repeated.any(), cells[repeated]
    full = cells[cells["printed"] != ""]
    assert full["printed"].str.fullmatch(r"[-−]?(0?\.\d+|1(\.0+)?|0)").all()
    assert full["value"].abs().max() <= 1
    silent = cells[(cells["printed"] == "") & (cells["note"].str.strip() == "")]
    assert silent.empty, silent[["paper", "artefact", "row"]].drop_duplicates().values.tolist()


def test_every_paper_keeps_the_general_rules():
    general_rules(published())


FURTHER = """
title = "A further paper"

[artefacts.table1]
what = "headlines"
notebook = "further_table1"

[[needs]]
rows = ["Judge"]
missing = "the judge"
needs = "the invented judge"

[[needs]]
missing = "texts"
needs = "invented texts"
"""


@pytest.fixture
def further(tmp_path, monkeypatch):
    """A copy of the papers and their tables; returns a function that adds a further paper with a table."""
    folder = tmp_path / "paper_tables" / "published"
    shutil.copytree(root() / "paper_tables" / "published", folder)
    shutil.copy(root() / "paper_tables" / "ledger.csv", tmp_path / "paper_tables")
    papers = tmp_path / "papers"
    shutil.copytree(str(folders.FOLDER), papers, ignore=shutil.ignore_patterns("*.py*", "prompts"))
    (papers / "further").mkdir()
    (papers / "further" / "paper.toml").write_text(FURTHER, encoding="utf-8")
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.setattr(folders, "FOLDER", papers)
    folders.papers.cache_clear()

    def add(*lines):
        head = "row,dataset,aspect,level,coefficient,printed,note"
        (folder / "further_table1.csv").write_text("\n".join([head, *lines, ""]), encoding="utf-8")

    yield add
    folders.papers.cache_clear()


def test_a_further_papers_table_breaks_nothing(further):
    """Two decimals, a dash, a perfect correlation and one without its zero: as a paper may print them."""
    before = len(published())
    further(
        "Overlap,headlines,clarity,system,pearson,0.41,",
        "Overlap,headlines,clarity,system,kendall,,printed as a dash",
        "Judge,headlines,clarity,system,pearson,1.0,",
        "Judge,headlines,clarity,system,kendall,-.5,",
    )
    cells = published()
    assert len(cells) == before + 4 and ("further", "table1") in tables()
    general_rules(cells)
    assert nj.papers.titles()["further"] == "A further paper"
    assert nj.paper("further").artefacts["table1"].what == "headlines"
    verdict = nj.Table("further", "table1").answer
    assert verdict.startswith("None of 3 published cells is computed here")
    assert verdict.endswith("Not checkable: texts (Overlap); the judge (Judge).")
    # The facts of the other papers are about the other papers.
    test_every_table_and_cell_is_there()
    test_most_papers_print_three_decimals()
    test_every_empty_cell_says_why()
    test_the_versions_of_g_eval_differ_in_six_fluency_cells()
    test_rows_as_the_paper_prints_them()


@pytest.mark.parametrize(
    "line",
    [
        "Overlap,headlines,clarity,system,pearson,1.41,",  # no correlation
        "Overlap,headlines,clarity,system,pearson,41,",
        "Overlap,headlines,clarity,system,pearson,,",
    ],
)  # empty, and nothing says why
def test_the_general_rules_hold_for_a_further_paper_too(further, line):
    further(line)
    with pytest.raises(AssertionError):
        general_rules(published())


def test_rows_as_the_paper_prints_them():
    compared = []
    for line in ROWS.strip().splitlines():
        if " | " not in line:
            key = line.split(":")[0]
            table, (count, places) = published(*key.split()), TABLES[key]
            compared.append(key)
            assert count == len(places) * table["row"].nunique(), key
            continue
        row, texts = line.split(" | ")
        own = table[table["row"] == row]
        cells = dict(zip(zip(*(own[name] for name in KEY[1:])), zip(own["printed"], own["note"])))
        assert sorted(cells) == sorted(places), (key, row)
        for place, text in zip(places, texts.split(), strict=True):
            printed, note = cells[place]
            assert printed == ("" if text in EMPTY else text), (key, row, place)
            assert EMPTY.get(text, "") in note, (key, row, place)
    assert compared == list(TABLES)


def test_most_papers_print_three_decimals():
    cells = checked(without=SHORT)
    printed = cells.loc[cells["printed"] != "", "printed"]
    assert printed.str.fullmatch(r"-?0\.\d{3}").all()
    assert cells["value"].abs().max() < 1


def test_every_empty_cell_says_why():
    cells = checked()
    empty = cells[cells["printed"] == ""]
    # GPTScore's tau 5 + 5, QAGS 6 + 6, BAGEL without reference 2 * 6, two lost columns of RealSumm's 13 rows less the
    # two cells that the prose prints, and Kendall's tau of GPT-4 in A Closer Look.
    assert len(empty) == 10 + 12 + 12 + (26 - 2) + 4
    silent = empty[~empty["note"].str.contains("dash|lost")]
    assert silent.empty, silent[["paper", "artefact", "row"]].drop_duplicates().values.tolist()


def test_what_only_the_prose_prints_says_so():
    cells = checked()
    prose = cells[
        (cells["printed"] != "") & cells["note"].str.contains("text gives .* in section 4.3")
    ]
    assert prose[["artefact", "row", "coefficient", "printed"]].values.tolist() == [
        ["table3", "ROUGE-1", "spearman", "0.498"],
        ["table3", "ChatGPT (Stars w/ ref)", "spearman", "0.195"],
    ]


def test_the_versions_of_g_eval_differ_in_six_fluency_cells():
    printed = checked().query("printed != ''").set_index(["paper", "artefact", *KEY])["printed"]
    new, old = printed["geval"], printed["geval_v1"]
    assert set(old.index) <= set(new.index)
    # Only EMNLP's Table 1 has the ablation without a description.
    assert {(key[0], key[1]) for key in set(new.index) - set(old.index)} == {
        ("table1", "G-EVAL-4 - Description")
    }
    both = new.loc[old.index]
    changed = {(*key[:2], key[3], key[5]): (old[key], both[key]) for key in old.index[old != both]}
    assert changed == {  # Table 1 of arXiv v1, and of EMNLP
        ("table1", "G-EVAL-4", "fluency", "spearman"): ("0.455", "0.506"),
        ("table1", "G-EVAL-4", "fluency", "kendall"): ("0.378", "0.455"),
        ("table1", "G-EVAL-4 - Probs", "fluency", "spearman"): ("0.438", "0.505"),
        ("table1", "G-EVAL-4 - Probs", "fluency", "kendall"): ("0.408", "0.473"),
        ("table1", "G-EVAL-4 - CoT", "fluency", "spearman"): ("0.403", "0.483"),
        ("table1", "G-EVAL-4 - CoT", "fluency", "kendall"): ("0.334", "0.431"),
    }


# Table, row, column and text as printed, of tables without correlations: DHP 4.3.2, appendices B and D,
# CoAScore 4.1, 4.5 and appendix A.
TEXTS = """
dhp table1|Summarization / line 1|Metrics|Coherence
dhp table1|Summarization / line 3|Perturbations|S (M) : Reordering (R) , Rewriting and Insertion (L)
dhp table1|Question Answering / line 1|Metrics|Answer Quality
dhp table1|Translation / line 2|Perturbations|W (M) : Random Deletions (R) , Fictional Named Entities (L) , Grammatical Errors (L)
dhp table2|Summarization / SummEval|Avg NLTK Statistics|SummEval: 340.4 Characters 58.3 Words 4.0 Sentences
dhp table2|Story Completion / (C, R) Random Typos|Description|Add 5 random typographical errors with "typo" package.
dhp table2|Translation / (W, R) Random Deletions|Description|Delete k continuous words in the translation randomly. k=5 for Minor, k=25 for Major.
dhp table3|GPT3.5-Turbo|Version|gpt-3.5-turbo-0125
dhp table3|GPT4-Turbo|Version|gpt-4-1106-preview
dhp table3|Mistral-7B|Version|Mistral-7B-Instruct-v0.2
dhp table3|Qwen1.5-72B|Source|huggingface.co/Qwen/Qwen1.5-72B-Chat
coascore table1|SummEval|Size|1,600
coascore table1|TopicalChat|Size|300
coascore table1|OpenMEVA|Size|1,000
coascore table1|BAGEL|Size|404
coascore table1|IWSLT14|Size|1,000
coascore table7|Wow really? So their heart is unprotected?|aspect / Completeness|4.0
coascore table7|Wow really? So their heart is unprotected?|LLMScore|3.0
coascore table8|Yeah bill murray called it|LLMScore|4.0
coascore table10|Yeah bill murray called it|aspect / Completeness|4.0
coascore table11|Yeah bill murray called it|CoAScore|5.0
coascore table14|Wow really? So their heart is unprotected?|Human|5.0
coascore table15|Anderlecht are keen to sign Anderlecht teenager Evangelos Patoulidis.|aspect / Logical flow|4.0
coascore table15|Anderlecht are keen to sign Anderlecht teenager Evangelos Patoulidis.|CoAScore|4.0
"""  # noqa: E501
ENTRIES = {
    "dhp table1": 21,
    "dhp table2": 28,
    "dhp table3": 24,
    "coascore table1": 10,
    "coascore table7": 8,
    "coascore table8": 1,
    "coascore table10": 5,
    "coascore table11": 1,
    "coascore table14": 8,
    "coascore table15": 8,
}


@pytest.mark.parametrize("key", ENTRIES)
def test_tables_without_correlations(key):
    table = published(*key.split())
    assert len(table) == ENTRIES[key] and not table.duplicated(["row", "column"]).any()
    assert (table.loc[table["printed"] == "", "note"] != "").all()
    printed = table.set_index(["row", "column"])["printed"]
    texts = [line.split("|") for line in TEXTS.strip().splitlines()]
    assert {text[0] for text in texts} == set(ENTRIES)
    for table, row, column, text in texts:
        assert table != key or printed[row, column] == text, (key, row)
