"""The gate: its rule, its calibration, what it says where it cannot tell, one pair and populations."""

import dataclasses
import json
import re

import numpy as np
import pytest
from scipy import stats
from typer.main import get_command

from tests.builders.populations import LIMITS, population
from tests.builders.simulated_studies import Truth, simulate
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.doubts import accuracy_by_chance, not_above_chance
from tfaudit.audits.flips.changed_predictions import changed_predictions
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import QUANTITIES, Limits
from tfaudit.audits.gate.measurements import measure
from tfaudit.cli import app
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.stats.contingency import paired_interval

EVERY = dataclasses.replace(
    LIMITS,
    corruption_drop_pp=2,
    group_drop_pp=6,
    slice_drop_pp=8,
    mean_error_increase=1,
    size_bytes=1000,
    size_ratio=0.5,
    latency_ms=2,
)


def pair(*classes, names=None):
    """One model and one compressed model; each class is (examples, lost, won), half of the others right in both."""
    labels, before, after = [], [], []
    other = len(classes)
    for c, (examples, lost, won) in enumerate(classes):
        both = (examples - lost - won + 1) // 2
        right_before = np.arange(examples) < lost + both
        right_after = (np.arange(examples) >= lost) & (np.arange(examples) < lost + both + won)
        labels += [c] * examples
        before += list(np.where(right_before, c, other))
        after += list(np.where(right_after, c, other))
    names = names or [*(f"class {c}" for c in range(other)), "none of them"]
    return tuple(
        Predictions.from_top1(labels, answers, class_names=names) for answers in (before, after)
    )


def only(verdict, name):
    (check,) = (check for check in verdict.checks if check.name == name)
    return check


def checked(name, limit, *populations, **options):
    """The check of a single limit."""
    (check,) = gate(*populations, Limits.from_mapping({name: limit}), **options).checks
    return check


@pytest.mark.parametrize(
    ("counts", "limit", "outcome"),
    [
        ((1000, 60, 10), 2, "fail"),  # 5 points, at least 3.4
        ((1000, 40, 10), 2, "cannot judge"),  # 3 points, but perhaps 1.6
        ((1000, 40, 10), 5, "pass"),  # at most 4.5
        ((10_000, 10, 10), 0.5, "pass"),
        ((100, 1, 1), 2, "cannot judge"),
        ((5, 0, 0), 2, "cannot judge"),
        ((5, 5, 0), 50, "cannot judge"),  # all lost, and yet few
        ((40, 40, 0), 50, "fail"),
    ],
)
def test_the_rule_for_drops(counts, limit, outcome):
    examples, lost, won = counts
    check = checked("overall_drop_pp", limit, *pair(counts))
    assert check.outcome == outcome
    assert check.value == pytest.approx(100 * (lost - won) / examples)
    low, high = paired_interval([lost], [won], [examples])
    assert (check.low, check.high) == pytest.approx((-100 * high[0], -100 * low[0]))
    assert (outcome == "fail") == (check.low > limit)
    assert (outcome == "pass") == (check.high < limit)


@pytest.mark.parametrize(
    ("counts", "limit"), [((100, 1, 1), 2), ((100, 12, 2), 5), ((400, 0, 0), 0.5)]
)
def test_the_images_that_would_decide_do(counts, limit):
    check = checked("overall_drop_pp", limit, *pair(counts))
    assert check.outcome == "cannot judge"
    undecided, _, remedy = check.sentence.partition("; with ")
    assert undecided.endswith(f"{counts[0]} examples do not decide on the limit of {limit:g}")
    assert remedy.endswith(f" examples (you have {counts[0]}) this could be decided.")
    printed = int(remedy.split(" examples")[0].replace(",", ""))
    assert check.images <= printed < 1.1 * check.images  # rounded up to two digits
    for factor, decided in ((0.9, False), (1.02, True)):
        scaled = [round(factor * check.images / counts[0] * count) for count in counts]
        outcome = checked("overall_drop_pp", limit, *pair(tuple(scaled))).outcome
        assert (outcome in ("pass", "fail")) == decided


def test_worst_class_names_those_that_fail():
    before, after = pair((1000, 5, 5), (1000, 90, 10), (1000, 60, 10), (20, 2, 0))
    verdict = gate(before, after, Limits(worst_class_drop_pp=2))
    check = only(verdict, "worst_class_drop_pp")
    assert (check.outcome, check.value) == ("fail", 8.0)
    assert "recall of class 1 falls by 8.00" in check.sentence
    assert "2 of 5 classes fail: class 1, class 2." in check.sentence
    table = verdict.classes.set_index("class")
    assert list(table["outcome"]) == ["pass", "fail", "fail", "cannot judge", "cannot judge"]
    assert table.loc["class 3", "drop_pp"] == 10  # larger, but two of 20 examples are chance
    assert table.loc["class 2", "p_holm"] > 0


@pytest.mark.parametrize(
    ("limit", "outcome"), [(0.02, "fail"), (0.1, "cannot judge"), (0.2, "pass")]
)
def test_the_share_of_classes_beyond_a_drop(limit, outcome):
    classes = [(2000, 3, 1)] * 180 + [(2000, 260, 20)] * 20
    limits = Limits(share_beyond=limit, worst_class_drop_pp=6)
    check = only(gate(*pair(*classes), limits), "share_beyond")
    assert check.outcome == outcome
    assert check.value == pytest.approx(0.1, abs=0.001)
    assert check.low < 20 / 201 < check.high
    assert "Surely lose more: class 180, class 181, " in check.sentence


@pytest.mark.parametrize(("after", "outcome"), [(600, "fail"), (940, "cannot judge")])
def test_a_collapsed_class_never_passes_whatever_the_share(after, outcome):
    """The one class keeps 40 or 2 of 1,000 images that it had, or loses half of the few that it had."""
    collapsed = (1000, after, 0) if outcome == "fail" else (1000, 40, 4)
    before, after = pair(*[(1000, 2, 2)] * 60, collapsed)
    if outcome != "fail":  # right on 60 of 1,000 before
        before, after = few_right(before, after)
    check = only(gate(before, after, Limits(share_beyond=0.5)), "share_beyond")
    assert (check.outcome, check.reason) == (
        outcome,
        "Recall of class 60 collapsed, whatever the share of classes.",
    )


def few_right(before, after):
    """The last class is hardly known before, and less after: a loss of 4 points, and yet a collapse."""
    sides = []
    for predictions, right in ((before, 60), (after, 15)):
        answers = predictions.top1[0].copy()
        answers[-1000:] = np.where(np.arange(1000) < right, 60, 61)
        sides.append(
            Predictions.from_top1(before.labels, answers, class_names=predictions.class_names)
        )
    return sides


def test_failing_is_corrected_for_many_classes():
    """One class loses 16 of 100 and gains none: at least 9 alone, at least 7 in an interval for all of 40 classes."""
    alone = gate(*pair((100, 16, 0)), Limits(worst_class_drop_pp=8))
    among = gate(*pair((100, 16, 0), *[(100, 0, 0)] * 39), Limits(worst_class_drop_pp=8))
    assert only(alone, "worst_class_drop_pp").outcome == "fail"
    check = only(among, "worst_class_drop_pp")
    assert check.outcome == "cannot judge"
    assert (
        "limit 8; judged alone this class fails; judged with the other 40 it may be chance; with "
        in check.reason
    )
    assert check.reason.endswith(" examples of class 0 (you have 100) this could be decided.")
    _, high = paired_interval([16], [0], [100], confidence=1 - 0.05 / 40)
    assert among.classes["sure_low_pp"][0] == pytest.approx(-100 * high[0])
    assert alone.classes["low_pp"][0] == alone.classes["sure_low_pp"][0]


def test_a_class_without_examples_cannot_be_judged():
    before, after = pair((20_000, 10, 10))  # and the class that is answered where both are wrong
    check = checked("worst_class_drop_pp", 5, before, after)
    assert check.outcome == "cannot judge"
    assert check.sentence.startswith("The recall of none of them is unknown: no test examples.")
    assert "1 of 2 classes cannot be judged: none of them." in check.sentence


def test_flips_of_a_pair_are_judged_by_the_exact_interval():
    before, after = pair((200, 12, 6))
    for name, count in (("flips", 18), ("negative_flips", 12)):
        low, high = stats.binomtest(count, 200).proportion_ci()
        outcomes = {low - 1e-6: "fail", low + 1e-6: "cannot judge", high + 1e-6: "pass"}
        for limit, outcome in outcomes.items():
            check = checked(name, limit, before, after)
            assert (check.value, check.outcome) == (count / 200, outcome)
            assert (check.low, check.high) == pytest.approx((low, high))
    same = checked("flips", 0.01, before, before)
    assert (same.low, same.high) == pytest.approx(tuple(stats.binomtest(0, 200).proportion_ci()))


def test_sizes():
    before, after = pair((200, 0, 0))
    for ratio, size, code in ((0.25, 1000, 1), (0.26, 1001, 0)):
        limits = Limits(size_bytes=size, size_ratio=ratio)
        assert gate(before, after, limits, sizes=(4000, 1001)).exit_code == code
    for sizes in (None, (0, 5)):
        with pytest.raises(InputError, match=r"sizes: got .*, expected .*size_ratio is limited"):
            gate(before, after, Limits(size_ratio=0.5), sizes=sizes)


def test_many_classes_are_judged_by_the_share_that_loses_more():
    for classes, name in ((150, "share_beyond"), (30, "worst_class_drop_pp")):
        verdict = gate(*pair(*[(50, 0, 0)] * classes))
        assert [check.name for check in verdict.checks] == ["overall_drop_pp", name]


@pytest.mark.parametrize(("factor", "outcome"), [(1.15, "pass"), (0.87, "fail")])
@pytest.mark.parametrize(
    ("name", "members", "paired"),
    [("negative_flips", 1, True), ("flips", 6, True), ("flips", 6, False)],
)
def test_the_design_that_would_decide_on_changed_predictions_does(
    name, members, paired, factor, outcome
):
    """Twice what it asks for is enough, whatever few images and members estimated; of single models five times."""

    def check_at(factor, seed, members, images):
        """The check of a study at a limit of its own rate times a factor, as single models differ."""
        study = simulate(Truth(paired=paired), seed, members=members, images=images)
        return checked(name, factor * getattr(measure(*study), name).value, *study)

    few = check_at(factor, 1, members, 50)
    assert few.outcome == "cannot judge"
    assert re.search(r"With [\d,]+ .*\(you have [\d,]+\) this could be decided\.$", few.sentence)
    more = (2 * few.members, few.images // 5) if members > 1 else (1, few.images // 2)
    assert check_at(factor, 2, *more).outcome == outcome
    never = check_at(1.0, 1, members, 50)
    assert never.sentence.endswith("this large, no number of examples can decide.")
    assert (never.images, never.members) == (0, 0)


@pytest.fixture(scope="module", params=[False, True], ids=["apart", "paired"])
def populations(request):
    """Two populations, whether they are paired, and the verdict on them by every limit."""
    before, after = population(1), population(2, hurt=[3])
    verdict = gate(before, after, EVERY, sizes=(100, 90), paired=request.param)
    return before, after, request.param, verdict


def test_populations_are_judged_by_the_intervals_of_class_impact(populations):
    before, after, paired, verdict = populations
    impact = class_impact(before, after, paired)
    frame = impact.frame()
    np.testing.assert_allclose(verdict.classes["drop_pp"], -frame["change_pp"])
    np.testing.assert_allclose(verdict.classes["low_pp"], -frame["change_high_pp"])
    np.testing.assert_allclose(verdict.classes["high_pp"], -frame["change_low_pp"])
    np.testing.assert_allclose(verdict.classes["p_holm"], frame["change_p_holm"])
    for_all = impact.changes.absolute.interval(1 - 0.05 / 5)[1]
    np.testing.assert_allclose(verdict.classes["sure_low_pp"], -100 * for_all)
    assert verdict.classes["outcome"][3] == "fail"
    assert only(verdict, "size_ratio").outcome == "fail"
    assert verdict.members == (6, 6)


def test_flips_of_populations_are_those_of_pairs_or_of_every_combination(populations):
    before, after, paired, verdict = populations
    members = zip(before.correct(), after.correct(), strict=True)
    every = [(a, b) for a in before.correct() for b in after.correct()]
    lost = only(verdict, "negative_flips")
    assert lost.value == pytest.approx(np.mean([a > b for a, b in (members if paired else every)]))
    assert lost.low < lost.value < lost.high
    assert ("Between two baseline models it is" in lost.sentence) is not paired
    changed = only(verdict, "flips")
    count = before.num_examples
    assert changed.value == pytest.approx(changed_predictions(before, after, paired).mean() / count)
    assert lost.low < changed.low < changed.value < changed.high
    own = 100 * changed_predictions(before, None).mean() / count
    assert (f"Between two baseline models it is {own:.2f} %." in changed.sentence) is not paired


def test_members_made_from_one_another_are_compared_as_pairs():
    """Members differ much, each loses the same three of its right answers: unpaired it drowns, the pairing finds it."""
    rng = np.random.default_rng(0)
    labels = np.zeros(1000, int)
    before = np.array([rng.random(1000) >= share for share in (0.5, 0.6, 0.7, 0.8)]).astype(int)
    after = before.copy()
    for lost, row in zip((29, 30, 31, 30), after, strict=True):
        row[np.flatnonzero(row == 0)[:lost]] = 1
    populations = [Predictions.from_top1(labels, rows) for rows in (before, after)]
    check = checked("overall_drop_pp", 1, *populations)
    assert check.outcome == "cannot judge"
    assert "1,000 examples and 4 and 4 members do not decide" in check.sentence
    check = checked("overall_drop_pp", 1, *populations, paired=True)
    assert (check.outcome, check.value) == ("fail", 3.0)
    children = Predictions(labels, populations[1].ranked, parents=range(4))  # as a store says it
    assert checked("overall_drop_pp", 1, populations[0], children) == check
    strangers = Predictions(labels, populations[1].ranked, members="abcd")
    with pytest.raises(InputError, match="paired: got members made from a, b, c, d, expected some"):
        gate(populations[0], strangers, paired=True)


def test_summary_is_plain():
    before, after = pair((100, 4, 1))
    counts = gate(before, after, EVERY, sizes=(2000, 900)).summary()
    assert json.loads(json.dumps(counts, allow_nan=False)) == counts
    assert len(counts["checks"]) == len(QUANTITIES)
    assert counts["classes"][1]["drop_pp"] is None
    assert gate(before, after, Limits(flips=0.5)).summary()["classes"] == []


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (
            {"overall_drop_pp": -1},
            r"overall_drop_pp: got -1, expected percentage points in \[0, 10",
        ),
        ({"flips": 2}, r"flips: got 2, expected a share in \[0, 1\]"),
        ({"flips": "2"}, "flips: got '2', expected a share"),
        ({"flips": True}, "flips: got True, expected a share"),
        ({"flips": float("nan")}, "flips: got nan, expected a share"),
        ({"harmed_share": 0.1}, "harmed_share: got 0.1, expected .* as this limit was removed"),
        ({"size_bytes": 0}, "size_bytes: got 0, expected a number of bytes"),
        ({"accuracy": 1}, "limits: got 'accuracy', expected names among overall_drop_pp"),
    ],
)
def test_bad_limits(limits, words):
    with pytest.raises(InputError, match=words):
        Limits.from_mapping(limits)


def test_every_limit_has_a_check_and_the_flag_of_its_name():
    verdict = gate(*pair((100, 4, 1)), EVERY, sizes=(2000, 900))
    assert [check.name for check in verdict.checks] == list(QUANTITIES) == [*EVERY.as_dict()]
    for quantity in QUANTITIES.values():
        assert quantity.text(float("nan")) == "unknown"
        assert quantity.text(0.5) != quantity.text(0.25)
        assert quantity.minimum < quantity.maximum
    options = {
        option
        for parameter in get_command(app).commands["gate"].params
        for option in parameter.opts
    }
    assert {f"--max-{name.removesuffix('_pp').replace('_', '-')}" for name in QUANTITIES} < options


@pytest.mark.parametrize(
    ("lost", "limit", "outcome"),
    [
        ({"fog": 60, "snow": 20}, 2, "fail"),
        ({"fog": 29, "snow": 20}, 2, "cannot judge"),  # beyond the limit only if judged alone
        ({"fog": 11, "snow": 2}, 2, "pass"),
    ],
)
def test_the_worst_corruption_is_judged_by_the_intervals_of_one_pair(lost, limit, outcome):
    sides = {(name, 5): pair((1000, count, 0)) for name, count in lost.items()}
    corrupted = tuple({level: both[i] for level, both in sides.items()} for i in (0, 1))
    clean = pair((1000, 0, 0))[0]
    check = checked("corruption_drop_pp", limit, clean, clean, corrupted=corrupted)
    assert (check.outcome, check.value) == (outcome, pytest.approx(lost["fog"] / 10))
    low, high = paired_interval([lost["fog"]], [0], [1000])
    assert (check.low, check.high) == pytest.approx((-100 * high[0], -100 * low[0]))
    both = paired_interval([lost["fog"]], [0], [1000], confidence=1 - 0.05 / 2)[1]
    assert (outcome == "fail") == (-100 * both[0] > limit)
    assert check.reason.startswith(f"Accuracy in fog 5 loses {lost['fog'] / 10:.1f} points (")
    assert ("this corruption fails" in check.sentence) == (-100 * both[0] < limit < check.low)


@pytest.mark.parametrize("paired", [True, False])
def test_populations_under_corruption_are_judged_as_on_clean_images(paired):
    before, after = population(1), population(2, hurt=[3])
    limits = Limits(overall_drop_pp=3, corruption_drop_pp=3)
    corrupted = tuple({("fog", 2): side, ("snow", 0): side} for side in (before, after))
    clean, worst = gate(before, after, limits, paired=paired, corrupted=corrupted).checks
    assert (clean.value, clean.low, clean.high) == (worst.value, worst.low, worst.high)
    few = {("fog", 2): population(1, members=1)}, {("fog", 2): after}
    check = checked("corruption_drop_pp", 3, before, after, corrupted=few)
    assert check.outcome == "cannot judge"
    assert check.reason == "Accuracy in fog 2: no interval with 1 against 6 members, limit 3."
    different = {("fog", 2): before}, {("fog", 3): after}
    with pytest.raises(InputError, match="expected the same conditions"):
        gate(before, after, limits, corrupted=different)


def test_without_predictions_under_corruption_their_limit_cannot_be_judged():
    (check,) = gate(*pair((100, 4, 1)), Limits(corruption_drop_pp=5)).checks
    assert check.outcome == "cannot judge"
    assert "there are no predictions under corruption" in check.reason


@pytest.mark.parametrize("members", [1, 3])
def test_nothing_is_judged_against_a_baseline_at_chance(members):
    rng = np.random.default_rng(0)
    labels = rng.choice(4, 400, p=[0.4, 0.3, 0.2, 0.1])
    limits = Limits(overall_drop_pp=20)

    def verdict(answers, limits=limits):
        predictions = Predictions.from_top1(
            labels, np.tile(answers, (members, 1)), class_names="abcd"
        )
        return gate(predictions, predictions, limits)

    assert verdict(labels).outcome == "pass"
    broken = {
        "one class": np.zeros_like(labels),
        "order": (labels + 1) % 4,
        "noise": rng.permutation(labels),
    }
    for answers in broken.values():
        judged = verdict(answers)
        assert (judged.outcome, judged.exit_code, len(judged.checks)) == ("cannot judge", 2, 1)
        assert judged.doubts[0].reason == judged.checks[0].reason
    # 45 % is above the chance of these shares, though no better than the largest class alone
    weak = np.where(np.arange(400) % 5 == 0, labels, rng.permutation(labels))
    assert verdict(weak).outcome == "pass"
    assert (
        verdict(weak, Limits(overall_drop_pp=20, min_baseline_accuracy=0.6)).outcome
        == "cannot judge"
    )


@pytest.mark.slow
def test_chance_alone_seldom_passes_for_knowledge():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 10
    assert np.mean([passes_for_knowledge(rng, labels) for _ in range(200)]) <= 0.09


@pytest.mark.slow
def test_chance_alone_seldom_passes_for_knowledge_on_clusters():
    """Films of one class, of which a guess sees all images alike; as single images 39 % of them passed."""
    rng = np.random.default_rng(0)
    films = np.arange(60) % 10
    clusters = np.repeat(np.arange(60), 20)
    for members in (1, 3):
        believed = [passes_for_knowledge(rng, films, clusters, members) for _ in range(200)]
        assert np.mean(believed) <= 0.09
    knowing = Predictions.from_top1(films[clusters], films[clusters], clusters=clusters)
    assert accuracy_by_chance(knowing, 0.05, clusters)[1] < 0.25


def passes_for_knowledge(rng, labels, clusters=None, members=1):
    guesses = rng.integers(0, 10, (members, len(labels)))
    if clusters is not None:
        labels, guesses = labels[clusters], guesses[:, clusters]
    predictions = Predictions.from_top1(labels, guesses, clusters=clusters)
    return not_above_chance(predictions, 0.05, clusters) == ()


def test_bad_input():
    before = population(1)
    with pytest.raises(
        InputError, match="compressed: got 1 members against a baseline of 6, expected one model"
    ):
        gate(before, population(1, members=1), EVERY)


@pytest.mark.parametrize(("images", "noted"), [(20, True), (53, True), (55, False)])
def test_a_class_too_small_for_any_number_of_members_is_noted(images, noted):
    labels = np.repeat([0, 1], [images, 200])
    members = np.tile(labels, (30, 1))
    population = Predictions.from_top1(labels, members)
    verdict = gate(population, population, Limits(worst_class_drop_pp=5))
    assert any("1 class has fewer than 54 examples" in note for note in verdict.notes) == noted
    assert (verdict.outcome == "cannot judge") == (images < 55)


@pytest.mark.parametrize(
    ("clusters", "outcome"), [(15, "cannot judge"), (19, "cannot judge"), (20, "pass")]
)
def test_nothing_passes_with_few_clusters_of_images(clusters, outcome):
    """One cluster of 15 may lose all its images, and not be among them: at 1.1 times the limit 13 % passed."""
    labels = np.repeat([0, 1], 1000)
    population = Predictions.from_top1(labels, [labels], clusters=np.arange(2000) % clusters)
    verdict = gate(
        population, population, Limits(overall_drop_pp=30, worst_class_drop_pp=30, flips=0.9)
    )
    assert {check.outcome for check in verdict.checks} == {outcome}
    few = [note for note in verdict.notes if "with fewer than 20, nothing passes" in note]
    assert bool(few) == (outcome != "pass")
    assert all(
        "a pass needs 20 clusters" in check.sentence.lower() for check in verdict.checks if few
    )


@pytest.mark.parametrize(("images", "named"), [(20, True), (400, False)])
def test_the_reason_names_the_rare_class_that_decides(images, named):
    check = checked("worst_class_drop_pp", 5, *pair((500, 20, 20), (500, 0, 0), (images, 0, 0)))
    if named:
        assert check.subject == "class 2"
        words = "Class 2 has 20 examples: a loss of up to 16 points cannot be excluded; "
        assert check.reason == f"{words}{check.images} examples would decide, limit 5."
        assert check.sentence.startswith(
            f"{words}{check.images} examples would decide. The recall of "
        )
    else:
        assert "cannot be excluded" not in check.reason


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((1000, 20, 0), "loses 2.0 points (1.3 to 3.1)"),
        ((1000, 0, 20), "gains 2.0 points (at least 1.3)"),
        ((1000, 15, 20), "gains 0.5 points (loss at most 0.7)"),
        ((10_000, 1, 3), "loses 0.0 points (-0.1 to 0.0)"),  # a gain of nothing would read oddly
    ],
)
def test_a_change_in_words(counts, said):
    check = checked("overall_drop_pp", 5, *pair(counts))
    assert check.reason == f"Accuracy {said}, limit 5."
