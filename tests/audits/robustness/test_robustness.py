"""Robustness against SciPy, statsmodels, pandas and the tables of [F]; members that are missing; single models."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tests.builders.nightly import and_nightly, noise, seeds
from tests.builders.populations import modal_sets, population
from tests.builders.simulated_studies import Truth, ratios_held
from tests.builders.two_way_reference import two_way
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.audits.robustness.robustness import robustness, robustness_table
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

PUBLISHED = Path(__file__).parents[2] / "stats" / "published"
CONDITIONS = [
    (corruption, severity) for corruption in ("fog", "snow", "frost") for severity in (1, 3, 5)
]


def under(condition, seed, members=5, hurt=(), examples=200):
    """A population of seven classes under a condition: the severer, the noisier."""
    number = CONDITIONS.index(condition)
    return population(
        100 * seed + number,
        members=members,
        hurt=hurt,
        noise=1 + 0.2 * condition[1] + 0.3 * (number // 3),
        classes=7,
        examples=examples,
    )


BEFORE = {condition: under(condition, 1) for condition in CONDITIONS}
AFTER = {condition: under(condition, 2, hurt=[3]) for condition in CONDITIONS}
CLEAN = population(91, members=5, classes=7), population(92, members=5, hurt=[3], classes=7)
FOUND = robustness(BEFORE, AFTER, clean=CLEAN)


def picked(predictions, rows, **names):
    """Some members of a population, under their names or others."""
    names = {"members": [predictions.members[i] for i in rows]} | names
    ranked = predictions.ranked[rows]
    return Predictions(predictions.labels, ranked, class_names=predictions.class_names, **names)


def each_picked(conditions, rows, **names):
    return {condition: picked(each, rows, **names) for condition, each in conditions.items()}


def means(conditions, corruption, figure):
    """Figures of the members, means over the severities."""
    return np.mean(
        [figure(each) for (name, _), each in conditions.items() if name == corruption], axis=0
    )


def by_member(conditions, corruption, k=1):
    return means(conditions, corruption, lambda each: each.accuracy(k))


def shares(conditions, corruption, k=1):
    return means(conditions, corruption, lambda each: each.correct(k))


CHANGE = ["change_pp", "change_low_pp", "change_high_pp"]


def assert_two_way(row, sides, *, paired=False, name="change"):
    """A figure, its interval and its p-value are those of the reference; returns value, low and high."""
    *interval, p = two_way(*sides, paired=paired)
    figures = [row[f"{name}{end}_pp"] for end in ("", "_low", "_high")]
    np.testing.assert_allclose(figures, 100 * np.array(interval), rtol=1e-6)
    assert row[f"{name}_p"] == pytest.approx(p)
    return interval


def assert_ratio(ends, sides, ratio, *, paired=False):
    """The ends are those of the logarithm's linear part over images and members, exponentiated."""
    _, low, high, _ = two_way(*(side / side.mean() for side in sides), paired=paired)
    np.testing.assert_allclose(list(ends), ratio * np.exp([low, high]), rtol=1e-6)


def assert_adjusted(frame, *names, methods=("holm", "bh")):
    for name, method in itertools.product(names, methods):
        reference = multipletests(frame[f"{name}_p"], method={"bh": "fdr_bh"}.get(method, method))
        np.testing.assert_allclose(frame[f"{name}_p_{method}"], reference[1])


@pytest.mark.parametrize("k", [1, 5])
def test_corruptions_are_changes_over_images_and_members_of_means_over_severities(k):
    frame = FOUND.frame().query("k == @k").set_index("corruption")
    assert list(frame.index) == ["fog", "snow", "frost"]
    for corruption, row in frame.iterrows():
        before, after = (by_member(side, corruption, k) for side in (BEFORE, AFTER))
        right = [shares(side, corruption, k) for side in (BEFORE, AFTER)]
        assert_two_way(row, right)
        welch = stats.ttest_ind(after, before, equal_var=False)
        assert row["published_p"] == pytest.approx(welch.pvalue)
        published = [row["published_low_pp"], row["published_high_pp"]]
        np.testing.assert_allclose(published, 100 * np.array(welch.confidence_interval(0.95)))
        assert row["relative_change"] == pytest.approx(after.mean() / before.mean() - 1)
        ends = 1 + row[["relative_low", "relative_high"]].astype(float)
        assert_ratio(ends, right, after.mean() / before.mean())
        errors = (1 - after.mean()) / (1 - before.mean())
        assert row["corruption_error"] == pytest.approx(errors)
        ends = row[["corruption_error_low", "corruption_error_high"]].astype(float)
        assert_ratio(ends, [1 - side for side in right], errors)
        shifts = [side - clean.correct(k) for side, clean in zip(right, CLEAN, strict=True)]
        assert_two_way(row, shifts, name="excess")
        losses = [shift.mean() for shift in shifts]
        assert row["relative_corruption_error"] == pytest.approx(losses[1] / losses[0])
    assert_adjusted(frame, "change", "excess")
    lost = (frame["change_p_holm"] <= 0.05) & (frame["change_pp"] < 0)
    assert list(frame["verdict"] == "lost accuracy") == list(lost)


def test_the_mean_over_corruptions_and_the_mce():
    names = ("fog", "snow", "frost")
    right = [np.mean([shares(side, name) for name in names], axis=0) for side in (BEFORE, AFTER)]
    assert_two_way(FOUND.overall.query("k == 1").iloc[0], right)
    wrong = [[1 - shares(side, name) for name in names] for side in (BEFORE, AFTER)]
    errors = [after.mean() / before.mean() for before, after in zip(*wrong, strict=True)]
    sides = [  # what each image adds to the mean error, whose scale and level are both estimated
        sum(error * before / before.mean() for error, before in zip(errors, wrong[0], strict=True)),
        sum(after / before.mean() for before, after in zip(*wrong, strict=True)),
    ]
    summary = FOUND.summary()
    assert summary["mce"] == pytest.approx(np.mean(errors))
    assert_ratio((summary["mce_low"], summary["mce_high"]), sides, np.mean(errors))
    rows = FOUND.frame().query("k == 1").set_index("corruption")
    assert summary["relative_mce"] == pytest.approx(rows["relative_corruption_error"].mean())
    assert summary["clean_change_pp"] == pytest.approx(
        100 * (CLEAN[1].accuracy() - CLEAN[0].accuracy()).mean()
    )
    assert summary["most_sensitive"] == rows["relative_change"].idxmin()
    assert summary["class_tests"] == 21
    lost = (FOUND.class_frame()["verdict"] == "lost recall").sum()
    assert summary["class_tests_lost_recall"] == lost > 0


def test_severities_are_the_conditions_one_by_one():
    frame = FOUND.severity_frame().query("k == 1")
    assert [*zip(frame["corruption"], frame["severity"], strict=True)] == CONDITIONS
    for row, condition in zip(frame.to_dict("records"), CONDITIONS, strict=True):
        right = BEFORE[condition].correct(), AFTER[condition].correct()
        assert_two_way(row, right)
        welch = stats.ttest_ind(*(side.mean(1) for side in right), equal_var=False)
        assert row["published_p"] == pytest.approx(welch.pvalue)
        span = two_way(np.zeros_like(right[1]), right[1], paired=True)
        np.testing.assert_allclose([row["after_low"], row["after_high"]], span[1:3], rtol=1e-6)
        assert row["examples"] == 200


@pytest.mark.parametrize("paired", [False, True])
def test_one_severity_alone_is_class_impact(paired):
    condition = ("snow", 3)
    sides = {condition: BEFORE[condition]}, {condition: AFTER[condition]}
    changes = robustness(*sides, clean=CLEAN, paired=paired).class_frame()
    alone = class_impact(BEFORE[condition], AFTER[condition], paired).frame()
    shared = [name for name in alone if name in changes and name != "published_direction"]
    assert len(shared) == 5 - 1 + 7 + 7 + 6
    pd.testing.assert_frame_equal(changes[shared], alone[shared])
    on_clean = class_impact(*CLEAN, paired).frame()
    np.testing.assert_allclose(changes["clean_relative_pp"], on_clean["relative_pp"])


def test_flips_are_the_exemplars_of_a_condition():
    frame = FOUND.flip_frame()
    clean = exemplars(*CLEAN).index
    for row, condition in zip(frame.to_dict("records"), CONDITIONS, strict=True):
        flips = exemplars(BEFORE[condition], AFTER[condition]).index
        both = np.intersect1d(clean, flips)
        assert (row["flips"], row["pies"], row["pie_flips"]) == (len(flips), len(clean), len(both))
        assert row["ratio"] == pytest.approx((len(both) / len(flips)) / (len(clean) / 200))
        table = [
            [len(both), len(flips) - len(both)],
            [len(clean) - len(both), 200 - len(clean) - len(flips) + len(both)],
        ]
        expected = (
            stats.fisher_exact(table)[1]
            if row["test"] != "z"
            else stats.chi2_contingency(table, False)[1]
        )
        assert row["p"] == pytest.approx(expected)


def test_lost_first_counts_what_the_compressed_population_alone_loses():
    def counted(population, sure):
        sets = zip(CLEAN[0].labels, modal_sets(population), strict=True)
        return np.array([modes == {label} if sure else label in modes for label, modes in sets])

    right = [counted(each, True) for each in CLEAN]
    expected = sum(
        right[0] & right[1] & counted(BEFORE["fog", s], True) & ~counted(AFTER["fog", s], False)
        for s in (1, 3, 5)
    )
    np.testing.assert_array_equal(FOUND.lost_first["fog"], expected)


@pytest.mark.parametrize("metric", ["top1", "top5"])
def test_table_3_of_the_paper_comes_out_of_answers_as_accurate_as_printed(metric):
    """Answers on 10,000 images whose accuracies are the printed ones: their relative changes are the printed ones."""
    table = pd.read_csv(PUBLISHED / "forget_table_3.csv", comment="#").query(
        "sparsity in (0.0, 0.9)"
    )
    labels = np.zeros(10_000, int)

    def answers(row):
        top1, top5 = round(100 * row["top1"]), round(100 * row["top5"])
        ranked = np.tile([1, 2, 3, 4, 5], (10_000, 1))
        ranked[:top5] = [1, 0, 2, 3, 4]
        ranked[:top1] = [0, 1, 2, 3, 4]
        return Predictions(labels, ranked[None], class_names="abcdef")

    pruned, dense = (table[table["sparsity"] == level] for level in (0.9, 0.0))
    sides = [
        {(row["corruption"], 1): answers(row) for row in side.to_dict("records")}
        for side in (dense, pruned)
    ]
    ours = robustness_table({"90 %": robustness(*sides)})["90 %", f"top-{metric[3:]}"]
    pruned = pruned.set_index("corruption")
    dense = dense.set_index("corruption")[metric]
    rounding = 100 * 0.005 * (1 / dense + pruned[metric] / dense**2) + 0.006
    assert len(pruned) == 12
    assert (np.abs(ours[pruned.index] - pruned[f"{metric}_norm"]) <= rounding).all()
    if metric == "top1":
        assert ours["impulse_noise"] == pytest.approx(-40.11, abs=0.01)
        assert ours["brightness"] == pytest.approx(-7.73, abs=0.01)


def test_a_set_without_severities_is_a_row_but_in_no_mean():
    extra = ("imagenet_a", 0)
    other = population(5, classes=7, examples=70), population(6, classes=7, examples=70, hurt=[3])
    found = robustness({**BEFORE, extra: other[0]}, {**AFTER, extra: other[1]}, clean=CLEAN)
    row = found.frame().query("corruption == 'imagenet_a' and k == 1").iloc[0]
    assert row["severities"] == 0
    change = 100 * (other[1].accuracy().mean() - other[0].accuracy().mean())
    assert row["change_pp"] == pytest.approx(change)
    sides = [each.correct()[:5] for each in (*other, *CLEAN)]  # clean images have five members
    apart, clean = (two_way(*pair, paired=False) for pair in (sides[:2], sides[2:]))
    assert row["excess_pp"] == pytest.approx(100 * (apart[0] - clean[0]))
    # Other images, the same members: the variances of the images add up, and each member's difference varies.
    of_images = sum(
        (a.mean(0) - b.mean(0)).var(ddof=1) / a.shape[1] for b, a in (sides[:2], sides[2:])
    )
    totals = [sides[i].mean(1) - sides[i + 2].mean(1) for i in (0, 1)]
    of_members = sum(total.var(ddof=1) / 5 for total in totals)
    half = (row["excess_high_pp"] - row["excess_low_pp"]) / 200
    least, most = np.sqrt(max(of_images, of_members)), np.sqrt(of_images + of_members)
    assert 2 * 0.98 * least < half < 2.6 * most
    pd.testing.assert_frame_equal(found.overall, FOUND.overall)
    assert list(found.flip_frame()["corruption"].unique()) == ["fog", "snow", "frost"]
    alone = robustness({extra: other[0]}, {extra: other[1]})
    figures = alone.overall.filter(regex="accuracy|change|excess|error|published")
    assert figures.isna().all(axis=None)
    assert "none of the sets has severities" in " ".join(alone.notes)


def test_members_that_are_made_from_one_another_are_tested_in_pairs():
    everyone, parents = range(5), [2, 0, 1, 4, 9]
    clean = CLEAN[0], picked(CLEAN[1], everyone, members=parents)
    renamed = each_picked(AFTER, everyone, members=parents)
    found = robustness(BEFORE, renamed, clean=clean, paired=True)
    right = shares(BEFORE, "snow")[[2, 0, 1, 4]], shares(AFTER, "snow")[:4]
    row = found.frame().query("corruption == 'snow' and k == 1").iloc[0]
    assert row[["test", "members_before", "members_after"]].tolist() == ["images and members", 4, 4]
    assert_two_way(row, right, paired=True)
    of_class = CLEAN[0].labels == 3
    change = found.class_frame().query("corruption == 'snow'").iloc[3]
    assert_two_way(change, [side[:, of_class] for side in right], paired=True)
    assert "Members without a partner" in found.notes[0]
    derived = each_picked(AFTER, everyone, members="vwxyz", parents=parents)
    by_parents = robustness(BEFORE, derived, clean=(CLEAN[0], clean[1]))
    pd.testing.assert_frame_equal(by_parents.severity_frame(), found.severity_frame())
    strangers = each_picked(BEFORE, [0, 1]), each_picked(AFTER, [3, 4])
    assert robustness(*strangers, paired=True).frame()["change_p"].isna().all()


def test_one_model_against_one_at_one_severity_is_the_pair_comparison():
    before, after = ({("fog", 3): picked(side["fog", 3], [0])} for side in (BEFORE, AFTER))
    found = robustness(before, after)
    pair = compare(before["fog", 3], after["fog", 3])
    row, expected = found.frame().iloc[0], pair.summary()
    assert row[["lost", "won", "change_p", *CHANGE]].tolist() == pytest.approx(
        [expected[name] for name in ("negative_flips", "positive_flips", "change_p", *CHANGE)]
    )
    assert row["test"] == "McNemar"
    shared = [name for name in pair.frame() if name.startswith(("change_", "relative_", "verdict"))]
    pd.testing.assert_frame_equal(found.class_frame()[shared], pair.frame()[shared])
    assert found.notes[0].startswith("One model against one")
    scaled = found.summary()
    wrong = [1 - side["fog", 3].correct() for side in (before, after)]
    assert_ratio((scaled["mce_low"], scaled["mce_high"]), wrong, wrong[1].mean() / wrong[0].mean())


def test_one_model_against_one_over_severities_pairs_the_images():
    before, after = each_picked(BEFORE, [2]), each_picked(AFTER, [2])
    found = robustness(before, after, clean=CLEAN)
    row = found.frame().query("corruption == 'snow' and k == 1").iloc[0]
    share = [shares(side, "snow")[0] for side in (before, after)]
    assert row["test"] == "images"
    assert row["change_p"] == pytest.approx(stats.ttest_rel(*share).pvalue)
    assert (row["lost"], row["won"]) == ((share[1] < share[0]).sum(), (share[1] > share[0]).sum())
    shifts = [mean - clean.correct()[2] for mean, clean in zip(share, CLEAN, strict=True)]
    assert row["excess_p"] == pytest.approx(stats.ttest_rel(*shifts).pvalue)


def test_one_image_and_constant_populations():
    perfect = {("fog", s): Predictions.from_top1([0, 1], [[0, 1], [0, 1]]) for s in (1, 2)}
    wrong = {("fog", s): Predictions.from_top1([0, 1], [[1, 0], [1, 0]]) for s in (1, 2)}
    row = robustness(perfect, perfect).frame().iloc[0]
    assert (row["change_p"], row["published_p"], row["relative_change"]) == (1, 1, 0)
    assert row["relative_low"] < 0 < row["relative_high"]
    row = robustness(wrong, perfect).frame().iloc[0]
    assert row["published_p"] == 2 / 6  # the smallest that two members a side can reach
    assert 0 < row["change_p"] < 0.25
    assert row[["relative_change", "relative_low"]].isna().all()  # nothing right before
    lone = {("fog", s): Predictions.from_top1([0], [0]) for s in (1, 2)}
    assert robustness(lone, lone).frame()[["change_p", "change_low_pp"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("before", "after", "known"), [(5, 35, True), (4, 20, False), (20, 36, False)]
)
def test_no_mce_from_fewer_than_five_right_or_wrong_predictions(before, after, known):
    def right(count):
        return Predictions.from_top1(np.zeros(40, int), (np.arange(40) >= count).astype(int))

    sides = [{("fog", 1): right(20), ("snow", 1): right(count)} for count in (before, after)]
    found = robustness(*sides)
    errors = found.frame().set_index("corruption")["corruption_error"]
    assert errors["fog"] == 1
    figures = [errors["snow"], *map(found.summary().get, ("mce", "mce_low"))]
    assert np.isfinite(figures).all() == known
    note = "No mCE: a model has fewer than 5 right or wrong predictions under snow."
    assert (note in found.notes) != known


@pytest.mark.slow
@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_neither_the_order_of_examples_nor_of_conditions_matters(seed):
    rng = np.random.default_rng(seed)
    order, turned = rng.permutation(200), [CONDITIONS[i] for i in rng.permutation(len(CONDITIONS))]

    def shuffled(each):
        names = {"class_names": each.class_names, "example_ids": each.example_ids[order]}
        return Predictions(each.labels[order], each.ranked[:, order], **names)

    before, after = ({c: shuffled(side[c]) for c in turned} for side in (BEFORE, AFTER))
    found = robustness(before, after, clean=(shuffled(CLEAN[0]), shuffled(CLEAN[1])))
    for ours, theirs, keys in (
        (found.frame(), FOUND.frame(), ["k", "corruption"]),
        (found.class_frame(), FOUND.class_frame(), ["corruption", "class"]),
        (found.flip_frame(), FOUND.flip_frame(), ["corruption", "severity"]),
    ):
        pd.testing.assert_frame_equal(
            *(each.set_index(keys).sort_index() for each in (ours, theirs)), atol=1e-9
        )


FOG = {("fog", 1): BEFORE["fog", 1]}, {("fog", 1): AFTER["fog", 1]}


def with_fog(severity, *sides):
    """One condition of both sides, and another severity with other populations."""
    return [{**known, ("fog", severity): side} for known, side in zip(FOG, sides, strict=True)]


@pytest.mark.parametrize(
    ("sides", "options", "message"),
    [
        (({}, {}), {}, "baseline: got no conditions"),
        (({"fog": CLEAN[0]}, AFTER), {}, "baseline: got key 'fog', expected pairs"),
        ((BEFORE, {("fog", 6): CLEAN[1]}), {}, r"compressed: got key \('fog', 6\)"),
        ((BEFORE, FOG[1]), {}, "compressed: got no fog 3, fog 5, snow 1, .* and 3 more"),
        (with_fog(0, *CLEAN), {}, "baseline: got fog with a severity and without"),
        (
            with_fog(2, population(1), population(2)),
            {},
            r"baseline \(fog, severity 2\): got different class names",
        ),
        (
            (BEFORE, AFTER),
            {"clean": (CLEAN[0], population(2, classes=7, examples=50))},
            r"compressed \(clean\): got 50 examples",
        ),
    ],
)
def test_bad_input(sides, options, message):
    with pytest.raises(InputError, match=message):
        robustness(*sides, **options)


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(
    ("members", "images", "studies"),
    and_nightly(
        [(10, 50, 25)],
        [(members, images, 300) for members in (2, 3, 10, 30) for images in (50, 500)],
    ),
)
def test_intervals_hold_ratios_whose_denominators_are_estimated_too(
    members, images, studies, paired
):
    """They held in 64 to 78 % of the studies where the baseline's errors counted as known."""
    truth = Truth(everywhere=0.02, paired=paired, image_shift=0.1, member_shift=0.1)
    sizes = {"members": members, "images": images}
    held = pd.DataFrame([ratios_held(truth, seed, **sizes) for seed in seeds(studies)]).mean()
    assert (held >= 0.92 - noise(0.08, studies)).all()


def test_members_that_are_missing_under_a_condition_leave_its_means():
    there = [0, 2, 3]
    fewer = {**BEFORE, ("fog", 3): picked(BEFORE["fog", 3], there)}
    found = robustness(fewer, AFTER, clean=CLEAN)
    rows = found.frame().query("k == 1").set_index("corruption")
    assert list(rows["members_before"]) == [3, 5, 5]
    accuracy = by_member(BEFORE, "fog")[there]
    assert rows["accuracy_before"]["fog"] == pytest.approx(accuracy.mean())
    assert found.overall["members_before"].iloc[0] == 3
    assert "Conditions have different members" in found.notes[0]
    shifts = accuracy - CLEAN[0].accuracy()[there]
    after = by_member(AFTER, "fog") - CLEAN[1].accuracy()
    assert rows["excess_pp"]["fog"] == pytest.approx(100 * (after.mean() - shifts.mean()))
