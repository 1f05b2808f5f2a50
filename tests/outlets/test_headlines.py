"""The sentences say what the figures carry, and no more."""

import numpy as np

from tests.builders.populations import population
from tfaudit.audits.chance.chance import chance
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.summary.summary import summary
from tfaudit.outlets.headlines import headlines
from tfaudit.predictions import Predictions


def said(before, after, **options):
    (line,) = headlines(summary({"dense": before, "int8": after}, **options))
    return line


def test_collapsed_classes_come_first():
    """Six that half of the members no longer find have no significant loss; they come before one that has."""
    labels = np.arange(500) % 10
    before = np.tile(labels, (6, 1))
    after = before.copy()
    after[:3, labels < 6] = 9
    after[:, (labels == 7) & (np.arange(500) < 250)] = 8
    line = said(Predictions.from_top1(labels, before), Predictions.from_top1(labels, after))
    assert line.classes == "7 of 10 classes collapsed (0, 1, 2, …)."
    after[:, (labels == 7) & (np.arange(500) < 250)] = 7
    after[:, (labels == 7) & (np.arange(500) < 100)] = 8
    line = said(Predictions.from_top1(labels, before), Predictions.from_top1(labels, after))
    assert (
        line.classes == "6 of 10 classes collapsed (0, 1, 2, …). 1 of the other 4 lost recall (7)."
    )


def test_images_beyond_chance():
    before = population(1)
    assert said(before, population(2, hurt=[0, 1, 2, 3], noise=2)).images.endswith(
        " expected by chance (p\u00a0=\u00a00.0022)."  # 2 of 924 assignments
    )
    null = chance(before, population(3)).pies
    assert said(before, population(3)).images == (
        f"{null.observed} examples change their majority prediction ({null.observed / 2:.1f}\u00a0%); "
        f"{null.mean:.3g} by chance. "
        f"Cannot tell the two apart (p\u00a0=\u00a0{null.p:.2g}): up to {null.observed - null.low:.0f} more than by "
        "chance cannot be ruled out."
    )
    few = [population(i, members=2, hurt=[3] * i) for i in range(2)]
    assert said(*few).images.endswith(
        " by chance. Cannot tell the two apart: with so few members p cannot be below 0.33."
    )
    assert said(before, population(3), permutations=0).images == (
        f"{null.observed} examples change their majority prediction ({null.observed / 2:.1f}\u00a0%)."
    )


def test_no_change_is_said_of_what_the_intervals_exclude():
    labels = np.arange(4000) % 4
    answers = np.tile(labels, (3, 1))
    changed = answers.copy()
    changed[:, :4] += 1
    line = said(Predictions.from_top1(labels, answers), Predictions.from_top1(labels, changed % 4))
    assert line.classes == "The recall of none of 4 classes changes by 5 points or more."


def test_a_retrained_twin_is_the_noise_floor():
    before, after = population(1, members=2), population(2, members=2)
    every = np.mean([np.sum(one != other) for one in before.top1 for other in after.top1])
    floor = np.sum(before.top1[0] != before.top1[1])
    assert said(before, after).twins == (
        f"On average {every:,.0f} predictions differ between a compressed and a baseline model; "
        f"training the baseline again changes {floor}."
    )
    single = said(population(1, members=1), population(2, members=1))
    assert (single.classes, single.twins) == ("", "")


def test_a_loss_that_is_not_established_is_named_with_its_interval():
    before, after = population(1), population(4)
    frame = class_impact(before, after).frame().sort_values("change_pp", kind="stable")
    assert not (frame["verdict"] == "lost recall").any()
    worst = frame.iloc[0]
    assert (
        f"{worst['class']} changes most, by −{abs(worst['change_pp']):.1f} points (−"
        in said(before, after).classes
    )
