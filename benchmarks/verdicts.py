"""Whether the rules of verdicts keep their promises, on simulated studies whose truth is known.

    python -m benchmarks.verdicts [TABLE ...] [--studies 300] [--seed 0]

Without a choice it prints all tables, whose worst cells docs/verdict_measured.md has: in per cent, how often intervals
hold the truth, and how often a limit of exactly the truth passes or fails. Both errors should be 2.5 %. Those of "Many
classes" say how often studies of 1,000 classes with 50 images each pass and fail by the default limit on the share of
classes.
"""

import argparse
import dataclasses
import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from benchmarks.first_screens import HURT, printed
from tests.builders.exact_tails import any_fails, fails
from tests.builders.few_clusters import SIZES as SIZES_OF_CLUSTERS
from tests.builders.few_clusters import cluster_errors
from tests.builders.limits_at_truth import LOSSES, StudyOfLimits
from tests.builders.long_tails import TAILS, tail_errors
from tests.builders.rare_classes import RareClass
from tests.builders.simulated_errors import KINDS, error_rates
from tests.builders.simulated_grids import grid, passes_once
from tests.builders.simulated_studies import (
    ALIKE,
    CLASSES,
    FLIPS,
    HIDDEN,
    RECALLS,
    Truth,
    clustered,
    corruption_outcomes,
    expected_changes,
    flip_rates,
    ratios_held,
    simulate,
    true_flip_rates,
    true_slope,
    until_decided,
    with_losses,
)
from tests.extensions.factors.tables import false_alarms, without_effects
from tfaudit.audits.comparison import Comparison
from tfaudit.audits.gate.checks import FAIL, PASS, PASSES_UNCORRECTED
from tfaudit.audits.gate.gate import judge
from tfaudit.audits.gate.limits import QUANTITIES, Limits
from tfaudit.audits.gate.measurements import measure
from tfaudit.audits.verdict.study_verdict import study_verdict
from tfaudit.extensions.distortion.attenuation import corrected_slope
from tfaudit.extensions.planning.lossless_model import pilot_model, promise_interval
from tfaudit.predictions import Predictions
from tfaudit.stats.multiplicity import adjust

SIZES = (50, 500)
MEMBERS = (2, 3, 10, 30)


def kind(paired: bool) -> str:
    """Return how members are called in tables."""
    return "paired" if paired else "independent"


def slopes(seeds: range) -> pd.DataFrame:
    """Return how often intervals hold the slope of recall distortion, or lie below or above it."""
    rows = []
    for paired, shirt, members, images in itertools.product(
        (False, True), (0.65, 0.40), MEMBERS, SIZES
    ):
        truth = Truth(paired=paired, recalls={"Shirt": (shirt,)}, image_shift=0.1, member_shift=0.1)
        true = true_slope(truth)
        ends = np.array(
            [
                np.ravel(
                    corrected_slope(
                        before.correct(), after.correct(), before.labels, 10, paired=paired
                    ).interval()
                )
                for before, after in studies(truth, seeds, members=members, images=images)
            ]
        )
        low, high = ends[np.isfinite(ends[:, 0])].T
        held = (low <= true) & (true <= high)
        figures = [*(100 * np.mean(share) for share in (held, high < true, low > true))]
        undefined = 100 * np.mean(np.isnan(ends[:, 0]))
        rows.append((kind(paired), members, images, f"{true:.2f}", *figures, undefined))
    columns = ["members", "K", "images", "slope", "coverage", "below", "above", "undefined"]
    return pd.DataFrame(rows, columns=columns)


def ratios(seeds: range) -> pd.DataFrame:
    """Return how often intervals hold ratios of accuracies and of errors under corruption."""
    rows = []
    for paired, members, images in itertools.product((False, True), MEMBERS, SIZES):
        truth = Truth(everywhere=0.02, paired=paired, image_shift=0.1, member_shift=0.1)
        sizes = {"members": members, "images": images}
        held = pd.DataFrame([ratios_held(truth, seed, **sizes) for seed in seeds])
        rows.append({"members": kind(paired), "K": members, "images": images, **100 * held.mean()})
    return pd.DataFrame(rows)


def corruptions(seeds: range) -> pd.DataFrame:
    """Return how often a limit on the drop under corruption errs: one corruption of two at it, or ten alike."""
    rows = []
    errors = [("1.1", PASS), ("1", PASS), ("1", FAIL), ("0.9", FAIL)]
    of_corruptions = {"one of two": HIDDEN, "ten alike": ALIKE}
    for (name, hidden), paired, members in itertools.product(
        of_corruptions.items(), (False, True), (1, *MEMBERS)
    ):
        truth = Truth(
            everywhere=0.02,
            paired=paired,
            differ=float(members > 1),
            image_shift=0.1,
            member_shift=0.1,
        )
        sizes = {"members": members, "images": 100}
        found = pd.DataFrame([corruption_outcomes(truth, seed, hidden, **sizes) for seed in seeds])
        shares = [100 * (found[ratio] == outcome).mean() for ratio, outcome in errors]
        rows.append((name, kind(paired), members, *shares))
    columns = ["corruptions", "members", "K", *(f"{ratio}: {outcome}" for ratio, outcome in errors)]
    return pd.DataFrame(rows, columns=columns)


def clusters(seeds: range) -> pd.DataFrame:
    """Return how often intervals hold the truth, which is no change, if images come in clusters of 20."""
    rows = []
    for of_one_class, members, images in itertools.product((False, True), (1, 3, 10), (100, 500)):
        truth = clustered(members, of_one_class=of_one_class)
        held = []
        for before, after in studies(truth, seeds, members=members, images=images):
            known = Comparison(before, after)
            unknown = Comparison(*(without_clusters(side) for side in (before, after)))
            held.append([share for one in (known, unknown) for share in _held(one)])
        shares = 100 * np.nanmean(held, axis=0)
        name = "films of a class" if of_one_class else "writers"
        rows.append((name, 10 * images // 20, members, *shares))
    columns = ["clusters", "number", "K", "accuracy", "recall", "relative"]
    columns += [f"{name}, without" for name in columns[3:]]
    return pd.DataFrame(rows, columns=columns)


PILOTS = 20
"""Number of small pilots of each planned design."""


def plans(seeds: range) -> pd.DataFrame:
    """Return how often the gate passes where a large pilot promises 80 %, and what small pilots promise there."""
    rows = []
    designs = [(True, members) for members in (1, 3, 10)] + [
        (False, members) for members in (3, 10)
    ]
    for (paired, members), classes in itertools.product(designs, (2, 10)):
        single = members == 1
        truth = Truth(paired=paired, image_shift=0.1, member_shift=0.0 if single else 0.1)
        limit = (5 if classes == 2 else 6) * (1 if paired else 2 if members > 3 else 4)
        limits = Limits(worst_class_drop_pp=limit, overall_drop_pp=limit / 2)
        sizes = {"members": 1 if single else 30, "images": 1000, "classes": classes}
        large = pilot_model(Comparison(*simulate(truth, seeds.start, **sizes)))
        images = large.images_needed(limits, members, 0.8)
        if images is None:
            continue
        outcomes = [
            judge(measure(*study), limits).outcome == PASS
            for study in studies(truth, seeds, members=members, images=images, classes=classes)
        ]
        passed = float(np.mean(outcomes))
        promises = []
        for seed in range(seeds.stop, seeds.stop + PILOTS):
            sizes = {"members": 1 if single else 2, "images": 100, "classes": classes}
            pilot = Comparison(*simulate(truth, seed, **sizes))
            ends = promise_interval(pilot, limits, members, images)
            promises.append((pilot_model(pilot).passes(limits, members, images), *ends))
        small, low, high = np.transpose(promises)
        # the noise of the simulations
        held = (low - 0.02 <= passed) & (passed <= high + 0.02)
        spread = " to ".join(f"{100 * end:.0f}" for end in np.quantile(small, [0.1, 0.9]))
        row = (kind(paired), members, classes, images, 100 * passed)
        rows.append((*row, 100 * np.median(small), spread, 100 * held.mean()))
    columns = ["members", "K", "classes", "images", "passes"]
    columns += ["small pilots", "8 of 10 of them", "coverage"]
    return pd.DataFrame(rows, columns=columns)


def without_clusters(population: Predictions) -> Predictions:
    """Return predictions whose images count as independent."""
    return Predictions(
        population.labels,
        population.ranked,
        class_names=population.class_names,
        parents=population.parents,
    )


def _held(comparison: Comparison) -> list[float]:
    """Return the shares of intervals that contain 0: of the accuracy, of recalls, and of recalls minus the accuracy."""
    whole = comparison.changes(np.zeros_like(comparison.baseline.labels), 1)
    classes = comparison.class_changes()
    shares = []
    for change in (whole.absolute, classes.absolute, classes.relative):
        low, high = change.interval()
        shares.append(float(np.mean((low <= 0) & (high >= 0))))
    return shares


def recommended(seeds: range) -> pd.DataFrame:
    """Return how often a study has a variant that passes, or recommends one, although it loses more than the limit."""
    truths = {
        "all lose 1.05": [1.05] * 12,
        "the 6 largest lose .2, the others 1.05": [0.2] * 6 + [1.05] * 6,
        "all lose .2": [0.2] * 12,
        "the largest loses 1.05, the others .2": [1.05] + [0.2] * 11,
    }
    sizes = pd.DataFrame({"bytes": np.linspace(2, 1, 13)}, index=["dense", *range(12)])
    rows = []
    for name, losses in truths.items():
        found = []
        for seed in seeds:
            before, after = grid(np.random.default_rng(seed), np.divide(losses, 100), 2000)
            measured = {key: measure(before, one, variants=12) for key, one in enumerate(after)}
            verdict = study_verdict(measured, sizes, Limits(overall_drop_pp=1))
            passing = np.flatnonzero(verdict.frame()["outcome"].isin([PASS, PASSES_UNCORRECTED]))
            smallest = losses[passing[-1]] if passing.size else 0
            best = 0 if verdict.best is None else losses[verdict.best]
            found.append((smallest > 1, best > 1, verdict.best is not None))
        rows.append((name, *(100 * np.mean(found, axis=0))))
    columns = [
        "truth",
        "smallest that passes is wrong",
        "recommended is wrong",
        "one is recommended",
    ]
    return pd.DataFrame(rows, columns=columns)


def flips(seeds: range) -> pd.DataFrame:
    """Return how often limits of a rate of changed predictions err."""
    rows = []
    for paired in (False, True):
        truth = FLIPS[paired]
        true = true_flip_rates(truth)
        for members, images in itertools.product(MEMBERS, SIZES):
            found = [
                flip_rates(*study, paired)
                for study in studies(truth, seeds, members=members, images=images)
            ]
            for name, rate in true.items():
                low, high = np.array([(rates[name].low, rates[name].high) for rates in found]).T
                errors = [high < rate / 1.1, high < rate, low > rate, low > rate / 0.9]
                held = (low <= rate) & (rate <= high)
                shares = [100 * np.mean(share) for share in (held, *errors)]
                rows.append((kind(paired), members, images, name, f"{100 * rate:.2f}", *shares))
    columns = ["members", "K", "images", "predictions", "%", "coverage"]
    columns += ["1.1: passes", "1: passes", "1: fails", ".9: fails"]
    return pd.DataFrame(rows, columns=columns)


def losses_of_classes(classes: int, share: float) -> dict[str, np.ndarray]:
    """Return the losses of classes by name of the truth; some lie exactly at the limits: this share, and 5 points."""
    ranks = (np.arange(classes) + 0.5) / classes
    lumps = {
        "nothing changes": (0, 0.0),
        "one class loses 12 points": (1, 0.12),
        "ten classes lose 12 points": (10, 0.12),
        "one class loses 60 points": (1, 0.6),
        f"{100 * share:g} % lose 5 points": (round(share * classes), 0.0501),
        f"{100 * share:g} % lose 12 points": (round(share * classes), 0.12),
        f"{200 * share:g} % lose 12 points": (round(2 * share * classes), 0.12),
    }
    truths = {
        name: np.where(ranks * classes < count, loss, 0.0) for name, (count, loss) in lumps.items()
    }
    truths["exponential, mean 1 point"] = -0.01 * np.log(ranks)
    truths[f"exponential, {100 * share:g} % beyond"] = 0.05 * np.log(ranks) / np.log(share)
    return truths


def shares(seeds: range) -> pd.DataFrame:
    """Return how often limits on the share of classes that lose more than 5 points pass and fail."""
    rng = np.random.default_rng(0)
    rows = []
    for share, members in ((0.05, 1), (0.05, 2), (0.01, 1)):
        limits = Limits(share_beyond=share)
        for name, losses in losses_of_classes(1000, share).items():
            truth = with_losses(rng.permutation(losses), paired=True)
            outcomes = [
                judge(measure(*study), limits).outcome
                for study in studies(truth, seeds, members=members, images=50, classes=1000)
            ]
            figures = [100 * np.mean(np.array(outcomes) == outcome) for outcome in (PASS, FAIL)]
            true = 100 * np.mean(losses > 0.05)
            rows.append((f"{100 * share:g} %", members, name, f"{true:.1f}", *figures))
    columns = ["limit", "K", "truth", "classes beyond, %", "passes", "fails"]
    return pd.DataFrame(rows, columns=columns)


def searches(seeds: range) -> pd.DataFrame:
    """Return how often searches among ten simulated files pass, and pass a file that loses more than the limit."""
    from tests.builders.simulated_searches import SMALLER, found_files  # which imports TensorFlow

    truths = {
        "the smaller, the more": [0, 0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.95, 1.5],
        "the 2 largest lose 0, the others 1.05": [0] * 2 + [1.05] * 8,
        "all lose 1.05": [1.05] * 10,
        "the 3 largest lose 1.05, the others 0": [1.05] * 3 + [0] * 7,
        "the smallest plain file loses 1.05, the others 0": [0] * 3 + [1.05] + [0] * 6,
    }
    rows = []
    for name, losses in truths.items():
        found = [found_files(losses, seed, 4000, range(2, 4), fallbacks=range(2)) for seed in seeds]
        for rule in found[0]:
            passed = [one[rule] for one in found if one[rule] is not None]
            wrong = 100 * sum(losses[file] > 1 for file in passed) / len(found)
            size = np.mean([SMALLER**file for file in passed]) if passed else np.nan
            rows.append((name, rule, 100 * len(passed) / len(found), wrong, 100 * size))
    columns = ["truth", "judged", "passes", "wrong", "mean size"]
    return pd.DataFrame(rows, columns=columns)


def regressions(seeds: range) -> pd.DataFrame:
    """Return how often factors without an effect have p <= .05, and how often errors by class test nothing."""
    rows = []
    for classes, before, uneven in itertools.product((5, 10, 30), (False, True), (False, True)):
        kinds = {"before": before, "uneven": uneven}
        found = [false_alarms(without_effects(seed, classes, **kinds)) for seed in seeds]
        design = {
            "classes": classes,
            "covariates": 2 + before,
            "design": "uneven" if uneven else "even",
        }
        rows.append({**design, **100 * pd.DataFrame(found).mean()})
    return pd.DataFrame(rows)


def looks(seeds: range) -> pd.DataFrame:
    """Return how often a gate that is asked until it passes does pass, at a loss of exactly the limit."""
    rows = []
    for fresh, most in ((True, 5), (True, 20), (False, 20)):
        shares = {
            "one level": [passes_once(seed, most, fresh=fresh) for seed in seeds],
            "--looks": [passes_once(seed, most, fresh=fresh, looks=most) for seed in seeds],
            "--look": [
                passes_once(seed, most, fresh=fresh, looks=most, counted=True) for seed in seeds
            ],
        }
        images = "new ones each time" if fresh else "the same"
        rows.append(
            {"images": images, "looks": most} | (100 * pd.DataFrame(shares).mean()).to_dict()
        )
    return pd.DataFrame(rows)


OVERALL, CLASS = Limits(overall_drop_pp=1), Limits(worst_class_drop_pp=5)
GROWING = {
    "accuracy loses 0, limit 1": (Truth(), OVERALL),
    "accuracy loses .5, limit 1": (Truth(everywhere=0.005), OVERALL),
    "accuracy loses 1, limit 1": (Truth(everywhere=0.01), OVERALL),
    "accuracy loses 2, limit 1": (Truth(everywhere=0.02), OVERALL),
    "a class loses 5, limit 5": (
        Truth(recalls={HURT: (RECALLS[CLASSES.index(HURT)] - 0.05,)}),
        CLASS,
    ),
    "nothing changes, limits 1 and 5": (
        Truth(),
        Limits(overall_drop_pp=1, worst_class_drop_pp=5),
    ),
}
"""Truths, two of which lie exactly at the limit, and limits."""


def sequential(seeds: range) -> pd.DataFrame:
    """Return how often populations that grow until the gate decides pass and fail, and how many members they need."""
    rows = []
    for paired, (name, (truth, limits)) in itertools.product((True, False), GROWING.items()):
        truth = dataclasses.replace(truth, paired=paired)
        found = [until_decided(truth, seed, limits, most=30, images=200) for seed in seeds]
        whole, grown, ends = (np.array(values) for values in zip(*found, strict=True))
        shares = [
            100 * np.mean(side == outcome) for outcome in (PASS, FAIL) for side in (whole, grown)
        ]
        rows.append((kind(paired), name, *shares, ends.mean()))
    columns = ["members", "truth", "K = 30 passes", "growing passes"]
    columns += ["K = 30 fails", "growing fails", "mean K"]
    return pd.DataFrame(rows, columns=columns)


def differing(times: float, *names: str, lost: float = 0.0) -> Truth:
    """Return a truth in which members differ more on some classes, the first of which may lose."""
    recall = RECALLS[CLASSES.index(names[0])] - lost
    return Truth(knack=dict.fromkeys(names, times), recalls={names[0]: (recall,)})


MEMBERS_OF_CLASSES = {
    "nothing changes": differing(1, HURT),
    "5 times as much on one class": differing(5, HURT),
    "10 times as much on one class": differing(10, HURT),
    "10 times as much on three classes": differing(10, HURT, "Trouser", "T-shirt"),
    "from .4 to 2.5 times as much": Truth(
        knack=dict(
            zip(CLASSES, np.geomspace(0.4, 2.5, 10)[[3, 8, 0, 5, 9, 2, 7, 1, 6, 4]], strict=True)
        )
    ),
    "one class loses 10 points": differing(1, HURT, lost=0.1),
    "it loses 10 points, 5 times as much on it": differing(5, HURT, lost=0.1),
    "a class of recall .97 loses 10 points": differing(1, "Trouser", lost=0.1),
    "it loses 10 points, 5 times as much on that one": differing(5, "Trouser", lost=0.1),
}
"""Studies in which members differ alike on all classes, and in which they do not."""


def members(seeds: range) -> pd.DataFrame:
    """Return the coverage, width and errors of intervals with moderated variances between members, and without."""
    rows = []
    for (paired, count), (name, truth) in itertools.product(
        itertools.product((True, False), (2, 3, 5)), MEMBERS_OF_CLASSES.items()
    ):
        truth = dataclasses.replace(truth, paired=paired)
        hurt = CLASSES.index(max(truth.knack, key=truth.knack.__getitem__))
        changes = expected_changes(truth, count).round(12)
        found = []
        for before, after in studies(truth, seeds, members=count):
            figures = []
            for moderated in (False, True):
                change = Comparison(before, after).class_changes(moderated=moderated).absolute
                low, high = change.interval()
                held = (low <= changes) & (changes <= high)
                claimed = adjust(change.p(), "holm") <= 0.05
                false = claimed & (changes == 0)
                passes = low[hurt] > changes[hurt] / 1.1 if changes[hurt] else False
                errors = held.mean(), held[hurt], passes, false.any(), claimed[hurt]
                figures.append((*errors, (high - low).mean() / 2))
            found.append(np.ravel(np.transpose(figures)))
        means = 100 * np.mean(found, axis=0)
        pairs = (f"{plain:.1f}, {moderated:.1f}" for plain, moderated in means.reshape(-1, 2))
        rows.append((kind(paired), count, name, *pairs))
    columns = ["members", "K", "members differ", "coverage", "of this class", "1.1: passes"]
    columns += ["false claims", "claims of this class", "half-width"]
    return pd.DataFrame(rows, columns=columns)


def rare(seeds: range) -> pd.DataFrame:
    """Return how often limits err and intervals hold where all members lose the same images of a class of few."""
    others = {
        "image by image": (0.0, 0.2, "Bag"),
        "some alike": (0.05, 0.1, "Bag"),
        "some alike, the weakest class is rare": (0.05, 0.1, "Shirt"),
    }
    rows = []
    for (images, share), (name, design), members in itertools.product(
        ((20, 0.06), (20, 0.12), (50, 0.06), (50, 0.12), (100, 0.06)), others.items(), (1, *MEMBERS)
    ):
        study = RareClass(images, share, members, *design)
        found = pd.DataFrame([study.errors(seed) for seed in seeds])
        figures = 100 * found.drop(columns="half-width").mean()
        rows.append(
            (images, f"{study.loss:.1f}", name, members, *figures, found["half-width"].mean())
        )
    columns = ["images", "loss", "other classes change", "K", *found]
    return pd.DataFrame(rows, columns=columns)


def price(seeds: range) -> pd.DataFrame:
    """Return what pairs show where classes are of equal size: the width of intervals, and both verdicts."""
    rows = []
    lost = with_losses(np.where(np.array(CLASSES) == HURT, 0.1, 0.0)).recalls
    for (classes, images), members in itertools.product(
        ((10, 50), (10, 500), (10, 1000)), (1, *MEMBERS)
    ):
        figures = []
        for recalls in ({}, lost):
            truth = Truth(
                paired=True, recalls=recalls, image_shift=0.05, member_shift=0.1 * (members > 1)
            )
            measured = [
                measure(*study) for study in studies(truth, seeds, members=members, images=images)
            ]
            widths = [(one.classes.high - one.classes.low).mean() / 2 for one in measured]
            outcomes = [judge(one, Limits(worst_class_drop_pp=5)).outcome for one in measured]
            figures += [
                100 * np.mean(np.array(outcomes) == FAIL if recalls else np.array(outcomes) == PASS)
            ]
        rows.append((classes, images, members, np.mean(widths), *figures))
    columns = [
        "classes",
        "images",
        "K",
        "half-width",
        "nothing lost: passes",
        "10 points lost: fails",
    ]
    return pd.DataFrame(rows, columns=columns)


def tails(seeds: range) -> pd.DataFrame:
    """Return how often limits on the share of classes err where classes have unequal numbers of images."""
    rows = []
    for name, members in itertools.product(TAILS, (1, 3, 10)):
        found = pd.DataFrame([tail_errors(name, members, seed) for seed in seeds])
        rows.append({"classes": name, "K": members, **100 * found.mean()})
    return pd.DataFrame(rows)


def few_clusters(seeds: range) -> pd.DataFrame:
    """Return how often a limit on accuracy errs with few clusters of unequal sizes, of which some lose much."""
    rows = []
    for sizes, clusters, members in itertools.product(SIZES_OF_CLUSTERS, (15, 20, 30, 50), (1, 3)):
        found = pd.DataFrame([cluster_errors(clusters, members, seed, sizes) for seed in seeds])
        design = {"sizes": sizes, "clusters": f"{clusters}", "K": f"{members}"}
        rows.append({**design, **100 * found.mean()})
    return pd.DataFrame(rows)


GATES = {10: (200, 1.0), 100: (50, 0.3), 1000: (50, 0.1)}
"""By number of classes: images of each class, and the share of the studies that is simulated."""


def gate(seeds: range) -> pd.DataFrame:
    """Return how often each limit errs: the mean over designs and over those of the worst K, after all designs."""
    found = []
    for classes, (images, share) in GATES.items():
        some = seeds[: max(1, round(share * len(seeds)))]
        for paired, members, losses in itertools.product((False, True), (1, *MEMBERS), LOSSES):
            rates = 100 * StudyOfLimits(losses, paired, members, classes, images).error_rates(some)
            design = {"C": classes, "studies": len(some), "members": kind(paired), "K": members}
            found.append(rates.rename_axis("limit").reset_index().assign(**design, truth=losses))
            printed(found[-1])
    cells = pd.concat(found)
    errors = [name for name in cells if ":" in name]
    rows = ["limit", "C", "studies"]
    mean = cells.groupby(rows)[errors].mean()
    worst = cells.groupby([*rows, "K"])[errors].mean().groupby(rows).max()
    texts = mean.map("{:.1f}".format) + worst.map(" ({:.1f})".format)
    return texts.reset_index().sort_values(
        "limit", kind="stable", key=lambda names: names.map([*QUANTITIES].index)
    )


def mean_errors(seeds: range) -> pd.DataFrame:
    """Return how often an increase of the mean error of 1.1 times the limit passes, and one of .9 times fails."""
    rows = []
    for kind, examples in itertools.product(KINDS, (50, 200, 1000)):
        rng = np.random.default_rng([seeds.start, examples])
        rates = np.multiply(100, error_rates(kind, rng, len(seeds), examples))
        rows.append((kind, examples, *rates))
    return pd.DataFrame(rows, columns=["errors", "examples", "1.1: passes", ".9: fails"])


WON = (0, 0.002, 0.01, 0.03, 0.1)
"""Shares of images that are won, besides those that are lost."""


def far(seeds: range) -> pd.DataFrame:
    """Return how often classes of single models fail, exactly: no study is drawn.

    All lose exactly the limit and any fails, for the worst share of images that are won; or one of them loses twice the
    limit, and 2 % of its images are won.
    """
    rows = []
    for (classes, images), loss in itertools.product(
        ((2, 200), (10, 200), (10, 500), (100, 500), (1000, 500), (1000, 50)),
        (0.02, 0.04, 0.05, 0.1),
    ):
        figures = []
        for alone in (True, False):
            how = {"score_alone": alone}
            figures.append(max(any_fails(classes, images, loss, won, **how) for won in WON))
            figures.append(fails(classes, images, 2 * loss, 0.02, limit=loss, **how))
        design = f"{classes:,}", f"{images:,}", f"{100 * loss:g}"
        rows.append((*design, *(100 * np.array(figures)[[0, 2, 1, 3]])))
    columns = ["classes", "images", "limit, points", "any fails, Tango alone", "any fails"]
    columns += ["twice the limit fails, Tango alone", "twice the limit fails"]
    return pd.DataFrame(rows, columns=columns)


def studies(truth: Truth, seeds: range, **sizes: int) -> Iterator[tuple[Predictions, Predictions]]:
    """Yield simulated studies."""
    return (simulate(truth, seed, **sizes) for seed in seeds)


TABLES: dict[str, Callable[[range], pd.DataFrame]] = {
    "slopes": slopes,
    "ratios": ratios,
    "corruptions": corruptions,
    "clusters": clusters,
    "plans": plans,
    "recommended": recommended,
    "flips": flips,
    "shares": shares,
    "searches": searches,
    "regressions": regressions,
    "looks": looks,
    "sequential": sequential,
    "members": members,
    "far": far,
    "rare": rare,
    "price": price,
    "tails": tails,
    "few_clusters": few_clusters,
    "mean_errors": mean_errors,
    "gate": gate,
}


def main() -> None:
    """Print the chosen tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], default=list(TABLES))
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.tables:
        print(name)
        printed(TABLES[name](range(options.seed, options.seed + options.studies)))


if __name__ == "__main__":
    main()
