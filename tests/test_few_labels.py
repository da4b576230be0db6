"""Few expert labels: `few_labels` and the notebook's proof against plain loops, and planted judges."""

import re
import warnings
from itertools import combinations

import nbformat
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import nlgjudge as nj
from nlgjudge.data.paths import root
from nlgjudge.stats import double_sampling

NOTEBOOK = root() / "notebooks" / "beyond_few_labels_validity.ipynb"
LONG_RUN = root() / "paper_tables" / "settings" / "beyond_few_labels.csv"
SCALE = (1, 5)


def world(documents=100, systems=6, seed=0, spread=1.2):
    """Experts' means in thirds from 1 to 5: documents x systems, with systems of different quality."""
    rng = np.random.default_rng(seed)
    quality = np.linspace(2, 4, systems) + rng.normal(0, 0.5, (documents, 1))
    ratings = quality + rng.normal(0, spread, (documents, systems))
    return np.round(3 * np.clip(ratings, *SCALE)) / 3


def judges(Y, seed=1):
    """Planted judges on the experts' scale."""
    rng = np.random.default_rng(seed)
    noisy = np.clip(Y + rng.normal(0, 1.2, Y.shape), *SCALE)
    biased = noisy.copy()
    biased[:, 1] = np.clip(biased[:, 1] + 1.5, *SCALE)
    hit = rng.random(Y.shape) < 0.05
    outliers = np.where(hit, rng.choice(SCALE, Y.shape), noisy)
    return {
        "perfect": Y,
        "useless": rng.uniform(*SCALE, Y.shape),
        "noisy": noisy,
        "biased": biased,
        "constant": np.full(Y.shape, 3.0),
        "outliers": outliers,
    }


def frame(Y, F, labelled=None, **others):
    """A row per document and system; labels of the documents named in `labelled` only."""
    documents, systems = F.shape
    number = np.repeat(np.arange(documents), systems)
    scores = {"judge": F, "human": Y} | others
    made = pd.DataFrame({name: values.ravel() for name, values in scores.items()})
    made["doc_id"] = [f"d{d:04}" for d in number]
    made["system_id"] = [f"s{s:02}" for s in range(systems)] * documents
    if labelled is not None:
        made.loc[~np.isin(number, labelled), "human"] = np.nan
    return made


def certify(Y, F, labelled=range(30), **options):
    few = frame(Y, F, list(labelled))
    return nj.stats.few_labels(few, "judge", "human", **{"scale": SCALE} | options)


def means_by_loops(Y, F, everything):
    """Means with a pooled weight, and their variances, from one document left out after another."""
    mean_all, sd_all = everything.mean(axis=0), everything.std(axis=0)
    n, systems = Y.shape

    def theta(rows):
        sd = Y[rows].std(axis=0, ddof=1)
        varies = [s for s in range(systems) if sd[s] > 1e-9 and sd_all[s] > 1e-9]
        rhos = [np.cov(Y[rows, s], F[rows, s])[0, 1] / sd[s] / sd_all[s] for s in varies]
        rho = min(max(sum(rhos) / systems, 0), 1)
        values = Y[rows].mean(axis=0)
        for s in varies:
            values[s] += rho * sd[s] / sd_all[s] * (mean_all[s] - F[rows, s].mean())
        return values

    whole = theta(list(range(n)))
    pseudo = [n * whole - (n - 1) * theta([j for j in range(n) if j != i]) for i in range(n)]
    total = len(everything)
    variance = (1 / n - 1 / total) * np.var(pseudo, axis=0, ddof=1) + Y.var(axis=0, ddof=1) / total
    return whole, variance


@pytest.fixture(scope="module")
def method():
    """Names that the notebook's cells of method and proof define."""
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    names = {"np": np, "stats": stats, "nj": nj, "few": double_sampling}
    names |= {"seed": 0, "draws": 6, "flips": 99, "sizes": (10, 20, 50, 100), "N": 1000}
    wanted = "def assisted|class Draws|def prediction_powered|def of_pairs|def of_correl|def case"
    for cell in cells:
        if cell.cell_type == "code" and re.search(wanted, cell.source):
            exec(compile(cell.source, cell.id, "exec"), names)  # noqa: S102
    return names


@pytest.mark.parametrize("name", ["perfect", "useless", "noisy", "biased", "constant", "outliers"])
def test_means_equal_plain_loops_in_package_and_notebook(name, method):
    Y = world()
    F = judges(Y)[name]
    theta, variance = means_by_loops(Y[:12], F[:12], F)
    found = certify(Y, F, range(12))
    half = stats.t.ppf(0.975, 11) * np.sqrt(variance)
    helped = found.means["judge"].to_numpy()
    assert helped.sum() >= 4
    assert np.allclose(found.means["value"][helped], theta[helped])
    assert np.allclose((found.means["ci_high"] - theta)[helped], half[helped])
    shown = method["estimates"](Y[:12], F[:12], F.mean(0), F.std(0), 100)
    assert np.allclose(shown.means, theta)
    assert np.allclose(double_sampling.variance_of_mean(shown.pseudo_values, Y[:12], 100), variance)
    assert (shown.helped == helped).all()


def test_a_constant_judge_is_labels_alone_and_a_useless_one_costs_little():
    Y = world()
    constant, useless = (certify(Y, judges(Y)[name]) for name in ("constant", "useless"))
    assert np.allclose(constant.means["value"], Y[:30].mean(axis=0))
    assert constant.saved == (0, 0, 0)
    assert useless.saved[0] < 0.03 and "Nothing is saved" in useless.sentences[0]
    assert np.isnan(constant.correlation[0]) and "No interval" in " ".join(constant.refused)


def test_labels_saved_by_hand():
    """With F = Y in every system, rho is sd_n(Y) / sd_N(Y), at most 1: all but n/N is saved."""
    Y = world()
    Y[:50] = Y[50:]  # the labelled half varies like the whole, but for n - 1
    found = certify(Y, Y, range(50))
    assert found.saved[0] == pytest.approx(1 - 50 / 100)
    assert "= 1.00 × (1 − 50/100) = 50%" in found.sentences[0]


def test_planted_judges_cover_and_decide_rightly():
    """40 draws of 25 of 100 documents, the population that is judged: the truth is known."""
    Y, rng = world(systems=5), np.random.default_rng(3)
    truth, span = Y.mean(axis=0), 4
    draws = [rng.permutation(100)[:25] for _ in range(40)]
    for name, F in judges(Y).items():
        covered, false, missed, errors = [], 0, 0, []
        for drawn in draws:
            found = certify(Y, F, drawn)
            means, pairs = found.means, found.pairs[found.pairs["decided"]]
            covered += list(means["ci_low"].le(truth) & means["ci_high"].ge(truth))
            better, worse = (pairs[side].str[1:].astype(int) for side in ("better", "worse"))
            false += (truth[better] <= truth[worse]).any()
            missed += found.cost < truth.max() - truth[F.mean(axis=0).argmax()] - 1e-9
            errors.append((means["value"] - truth, means["labels_alone"] - truth))
            assert 0 <= found.cost <= span
        mine, alone = np.square(errors).sum(axis=(0, 2))
        assert np.mean(covered) > 0.9, name
        assert false <= 5 and missed <= 5, name
        assert mine / alone < (0.4 if name == "perfect" else 1.05), name


def test_pairs_by_holm_are_t_tests_of_labels_for_a_constant_judge():
    Y = world(systems=4)
    found = certify(Y, np.full(Y.shape, 2.0), range(12)).pairs
    p = {}
    for s, t in combinations(np.argsort(-Y[:12].mean(axis=0)), 2):
        p[f"s{s:02}", f"s{t:02}"] = stats.ttest_rel(Y[:12, s], Y[:12, t]).pvalue
    expected = nj.stats.holm(list(p.values()))
    found = found.set_index(["better", "worse"])["p"]
    # The constant judge is of no help, but the systems' noise of N documents is that of n of them.
    assert np.allclose([found[pair] for pair in p], expected)


def test_step_down_equals_a_plain_loop():
    Y = world(systems=3, seed=4)
    found = certify(Y, np.full(Y.shape, 2.0), range(24)).pairs
    D = np.array([Y[:24, s] - Y[:24, t] for s, t in combinations(range(3), 2)])

    def t_of(rows):
        return abs(rows.mean()) / np.sqrt(rows.var(ddof=1) / len(rows))

    T = [t_of(rows) for rows in D]
    order, p, before = np.argsort(T)[::-1], {}, 0
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (1999, 24))
    for i, pair in enumerate(order):
        left = order[i:]
        higher = sum(max(t_of(D[j] * flip) for j in left) >= T[pair] - 1e-12 for flip in signs)
        before = max(before, (1 + higher) / 2000)
        p[pair] = before
    assert found["p"].tolist() == pytest.approx([p[pair] for pair in order])


@pytest.mark.parametrize("coefficient", ["spearman", "pearson", "kendall"])
def test_correlation_at_sample_level_by_scipy(coefficient):
    Y = world()
    F = judges(Y)["noisy"]
    function = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}
    each = [function[coefficient](a, b).statistic for a, b in zip(Y[:30], F[:30])]
    found = certify(Y, F, coefficient=coefficient)
    half = stats.t.ppf(0.975, 29) * np.std(each, ddof=1) / np.sqrt(30)
    assert found.correlation == pytest.approx(
        (np.mean(each), np.mean(each) - half, np.mean(each) + half)
    )
    assert found.usable == 30


def test_correlation_at_dataset_and_system_level_by_loops():
    Y = world(systems=12)
    F = judges(Y)["noisy"]
    labels, scores, n = Y[:30], F[:30], 30

    def dataset(rows):
        return np.corrcoef(labels[rows].ravel(), scores[rows].ravel())[0, 1]

    def system(rows):
        here, x = labels[rows], F.mean(axis=0)
        y = here.mean(axis=0)
        noise = np.mean(
            [np.var((here - here.mean(1, keepdims=True))[:, s], ddof=1) for s in range(12)]
        )
        true = np.var(y, ddof=1) - noise * 12 / 11 / len(here)
        return np.cov(x, y)[0, 1] / np.sqrt(np.var(x, ddof=1) * true)

    for level, function in (("dataset", dataset), ("system", system)):
        z = np.arctanh(function(list(range(n))))
        parts = [
            n * z - (n - 1) * np.arctanh(function([j for j in range(n) if j != i]))
            for i in range(n)
        ]
        half = stats.t.ppf(0.975, n - 1) * np.std(parts, ddof=1) / np.sqrt(n)
        low, high = np.tanh([z - half, z + half])
        expected = (np.tanh(z), low, 1 if high >= 0.97 else high)
        found = certify(Y, F, level=level, coefficient="pearson")
        assert found.correlation == pytest.approx(expected), level


@pytest.mark.parametrize("n", [12, 30])
@pytest.mark.parametrize("level", ["sample", "dataset", "system"])
def test_draws_in_leading_axes_equal_certificates_one_after_another(n, level):
    Y, rng = world(systems=12), np.random.default_rng(2)
    Y[:97, 0] = 5  # nearly all labels at one value
    F = np.clip(judges(Y)["noisy"] + np.resize([2, 0, -2, 0, 1], 12), *SCALE)  # likes some systems
    drawn = np.array([np.sort(rng.permutation(100)[:n]) for _ in range(3)])
    rated = Y[drawn], F[drawn], np.tile(F.mean(axis=0), (3, 1))
    estimates, rho = double_sampling.regression_estimates(*rated, F.std(axis=0), 100)
    _, p, _ = double_sampling.compare_pairs(estimates, signs_of(n))
    cost = double_sampling.cost_of_winner(estimates, rated[2], 4, 0.05)
    parts = double_sampling.correlation_estimate(*rated, level, "pearson")
    (value, low, high), holds = double_sampling.correlation_interval(*parts, level, 0.05)
    saved = double_sampling.t_interval(*rho, 0.05)[0] ** 2 * (1 - n / 100)
    assert holds.all() and not estimates.helped[:, 0].any()
    for i, one in enumerate(drawn):
        found = certify(Y, F, one, level=level, coefficient="pearson")
        helped = found.means["judge"]
        assert (helped == estimates.helped[i]).all()
        assert np.allclose(found.means["value"][helped], estimates.means[i][helped])
        assert np.sort(found.pairs["p"]) == pytest.approx(np.sort(p[i]))
        assert found.correlation == pytest.approx((value[i], low[i], high[i]))
        assert (found.cost, found.saved[0]) == pytest.approx((cost[i], saved[i]))


def signs_of(n):
    return np.random.default_rng(0).choice([-1.0, 1.0], (1999, n))


def test_a_document_without_which_the_correlation_is_undefined_makes_the_interval_wide():
    """Of 20 documents one alone has scores that vary: without it nothing is known, and 0 stands for that."""
    Y = world()
    F = np.full(Y.shape, 3.0)
    F[7] = Y[7]
    found = certify(Y, F, range(20), level="dataset", coefficient="pearson")
    r = np.corrcoef(Y[:20].ravel(), F[:20].ravel())[0, 1]
    assert found.usable == 20 and found.correlation[0] == pytest.approx(r)
    assert found.correlation[1] < 0 < found.correlation[2]
    assert "Notice: one of 20 documents has" in " ".join(found.sentences)
    usual = certify(Y, judges(Y)["noisy"], range(20), level="dataset")
    assert "Notice" not in " ".join(usual.sentences)


def test_good_enough_against_each_kind_of_bar():
    Y = world(systems=8)
    planted = judges(Y)
    mean = certify(Y, planted["noisy"]).correlation[0]
    verdicts = [certify(Y, planted["noisy"], bar=mean + off).verdict for off in (-0.3, 0, 0.3)]
    assert verdicts == ["yes", "not yet", "no"]
    rng = np.random.default_rng(5)
    raters = {f"r{i}": Y + rng.normal(0, 0.5, Y.shape) for i in range(3)}
    few = frame(Y, planted["noisy"], range(30), second=planted["useless"], **raters)

    def verdict(bar, judge="judge"):
        return nj.stats.few_labels(few, judge, "human", scale=SCALE, bar=bar).verdict

    assert verdict("second") == "yes" and verdict("judge", "second") == "no"
    assert verdict(list(raters)) == "no"


def test_more_documents_for_a_margin_by_hand():
    """s = 0.4: ((1.96 + 0.84) 0.4 / 0.1)^2 = 125.6 documents, of which 30 are there."""
    Y = world()
    F = judges(Y)["noisy"]
    each = [stats.spearmanr(a, b).statistic for a, b in zip(Y[:30], F[:30])]
    found = certify(Y, F, margin=0.1)
    needed = ((1.959964 + 0.841621) * np.std(each, ddof=1) / 0.1) ** 2
    assert found.more == np.ceil(needed) - 30
    assert f"label {found.more:.0f} more documents" in " ".join(found.sentences)


def test_ceiling_labels_get_a_betting_interval_without_the_judge():
    """28 of 30 labels at the top; the capital of each bet is multiplied up in a plain loop."""
    Y = world()
    Y[:, 0] = 5
    Y[[3, 17], 0] = 1
    found = certify(Y, judges(Y)["noisy"])
    system = found.means.iloc[0]
    assert not system["judge"] and found.means["judge"][1:].all()
    assert "betting interval" in " ".join(found.refused)
    assert "chosen after a look at the labels" in " ".join(found.sentences)
    x, held = (Y[:30, 0] - 1) / 4, []
    for m in np.linspace(0, 1, 1001):
        up = down = 1.0
        total, squares, variance, alive = 0.5, 0.25, 0.25, True
        for i, value in enumerate(x, start=1):
            bet = np.sqrt(2 * np.log(40 * 2) / (30 * variance))
            up *= 1 + min(bet, 0.5 / m if m else np.inf) * (value - m)
            down *= 1 - min(bet, 0.5 / (1 - m) if m < 1 else np.inf) * (value - m)
            alive &= max(up, down) < 2 / 0.05
            total += value
            squares += (value - total / (i + 1)) ** 2
            variance = squares / (i + 1)
        held += [m] * bool(alive)
    expected = 1 + 4 * np.clip([held[0] - 0.001, held[-1] + 0.001], 0, 1)
    assert system[["ci_low", "ci_high"]].tolist() == pytest.approx(expected, abs=0.02)
    assert system["ci_low"] < Y[:, 0].mean() < system["ci_high"]


@pytest.mark.parametrize(
    "options, reason",
    [
        ({"drawn": "the hardest"}, "not drawn at random.*Draw documents at random"),
        ({"look": 3, "looks": 2}, "look 3 of 2 planned.*Plan the looks"),
        ({"labelled": range(6)}, "6 documents are labelled.*Label 4 more documents"),
        ({"scale": (1, 4)}, "labels outside the scale from 1 to 4.*the right scale"),
        ({"metric_scale": (0, 1)}, "scores outside the scale from 0 to 1.*the right scale"),
        ({"labelled": "highest"}, "less than once in a thousand.*Draw documents at random"),
    ],
)
def test_everything_is_refused_with_a_reason_and_advice(options, reason):
    Y = world()
    F = judges(Y)["noisy"]
    if options.get("labelled") == "highest":  # by the judge's mean score
        options = {"labelled": np.argsort(F.mean(axis=1))[-30:]}
    found = certify(Y, F, **options)
    assert re.search(reason, found.refused[0])
    assert found.sentences == [f"**Refused.** {found.refused[0]}"]
    assert found.means is None and found.pairs is None and found.paper == ""
    assert np.isnan([*found.saved, *found.correlation, found.cost, found.more]).all()


def test_a_correlation_is_refused_alone():
    Y = world()
    F = judges(Y)["noisy"]
    same = np.where(np.arange(100)[:, None] < 7, Y, 4.0)  # all systems have the same label
    for reason, found in {
        "ranks of systems' means": certify(Y, F, level="system"),
        "only 6 systems": certify(Y, F, level="system", coefficient="pearson"),
        "only 7 of 30 labelled documents": certify(same, F),
        "too close to 1": certify(Y, Y, level="dataset"),
    }.items():
        assert reason in found.refused[-1] and found.means is not None and found.paper


def test_a_document_with_some_labels_or_scores_is_left_out_and_counted():
    Y = world()
    few = frame(Y, judges(Y)["noisy"], range(30))
    few.loc[0, "human"] = np.nan
    few.loc[599, "judge"] = np.nan
    found = nj.stats.few_labels(few, "judge", "human", scale=SCALE)
    assert (found.labelled, found.documents) == (29, 99)
    assert "1 documents lack a score" in found.refused[0]
    assert "1 documents have labels of some systems only" in found.refused[1]


def test_planned_looks_share_the_error():
    Y = world()
    F = judges(Y)["noisy"]
    one, five = (certify(Y, F, look=1, looks=looks) for looks in (1, 5))
    wider = np.subtract(*five.correlation[:0:-1]) / np.subtract(*one.correlation[:0:-1])
    assert wider == pytest.approx(stats.t.ppf(0.995, 29) / stats.t.ppf(0.975, 29))


def test_the_committed_long_run_keeps_its_promises():
    run = pd.read_csv(LONG_RUN)
    cases = run[run["judge"] != "all"]
    real = cases[cases["data"] == "SummEval"]
    assert run["draws"].min() >= 1000
    assert real["judge"].nunique() >= 8 and real["aspect"].nunique() == 4
    by_n = real.groupby("n")
    for column in ("covered", "covered, sample", "covered, dataset", "covered, system"):
        assert by_n[column].mean().min() >= 0.93, column
    assert real["false"].max() <= 0.05
    assert cases[cases["data"] == "equal systems"].groupby("n")["false"].mean().max() <= 0.06


@pytest.mark.parametrize("documents, words", [(12, "fewer than 20"), (30, "20 or more")])
@pytest.mark.parametrize("level", ["sample", "dataset", "system"])
def test_the_certificate_quotes_the_coverage_of_the_committed_long_run(level, documents, words):
    """The lowest and highest share of draws of any judge and aspect, rounded outwards."""
    run = pd.read_csv(LONG_RUN).query("judge != 'all'")
    shares = run.loc[(run["n"] >= 20) == (documents >= 20), f"covered, {level}"]
    low, high = np.floor(100 * shares.min()), np.ceil(100 * shares.max())
    Y = world(systems=12)
    F = np.clip(judges(Y)["noisy"] + np.resize([1, 0, -1, 0, 1], 12), *SCALE)  # likes some systems
    found = certify(Y, F, range(documents), level=level, coefficient="pearson")
    assert found.usable == documents and f"{level} level is" in found.paper
    quoted = f"With {words} documents, such intervals of 95% covered in {low:.0f} to {high:.0f}%"
    assert sum(sentence.startswith(quoted) for sentence in found.sentences) == 1


def test_a_case_of_the_proof_is_the_certificate_of_each_draw(method):
    """Twenty labels of 1,000 documents: means covered, pairs, a false yes, and what the winner costs."""
    Y, n = world(), 20
    Y[:90, 0] = 5
    F = judges(Y)["noisy"]
    drawn = method["Draws"](100)
    drawn.signs[n] = signs_of(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shown = method["case"](Y, F, drawn, n, 4)
    truth = Y.mean(axis=0)
    agreed = np.mean([stats.spearmanr(a, b).statistic for a, b in zip(Y, F)])
    for draw, index in enumerate(drawn.index):
        found = certify(Y[index], F[index], range(n), bar=agreed)
        means = found.means
        covered = means["ci_low"].le(truth) & means["ci_high"].ge(truth)
        expected = np.where(means["judge"], covered, np.nan)
        assert np.array_equal(shown["covered"][draw], expected, equal_nan=True)
        assert shown["decided"][draw].sum() == found.pairs["decided"].sum()
        assert shown["false yes"][draw] == (found.verdict == "yes")
        lacking = truth.max() - truth[F[index].mean(axis=0).argmax()]
        assert shown["cost missed"][draw] == (found.cost < lacking - 1e-9)
