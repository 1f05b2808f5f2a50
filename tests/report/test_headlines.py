"""The sentences say what the figures carry, and no more."""

import numpy as np

from tests.builders.populations import population
from tfaudit.audit.chance import chance
from tfaudit.audit.summary import summary
from tfaudit.predictions import Predictions
from tfaudit.report.headlines import headlines


def said(before, after):
    (line,) = headlines(summary({"dense": before, "int8": after}))
    return line


def test_harm():
    before, after = population(1), population(2, hurt=[3])
    line = said(before, after)
    counts = summary({"dense": before, "int8": after}).impacts["int8"].summary()
    assert line.accuracy.startswith("Mean top-1 accuracy falls by")
    assert f"{counts['harmed']} is harmed (3)" in line.classes
    assert "0.25 of 5 would differ by chance alone" in line.classes


def test_nothing_changes():
    line = said(population(1), population(1))
    assert line.accuracy.startswith("Mean top-1 accuracy stays within 0.05 points")
    assert line.classes == "There is no evidence that any of 5 classes changes differently from the rest."
    assert line.images == "No image changes its modal label."


def test_one_image():
    answers = np.tile(np.arange(40) % 4, (3, 1))
    changed = answers.copy()
    changed[:, 0] = 1
    line = said(Predictions.from_top1(answers[0], answers), Predictions.from_top1(answers[0], changed))
    assert line.images.startswith("1 image changes its modal label (2.5\u00a0%); ")


def test_images_beyond_chance():
    before = population(1)
    assert said(before, population(2, hurt=[0, 1, 2, 3], noise=2)).images.endswith(
        " by chance (p\u00a0= 0.0022)."  # 2 of 924 assignments
    )
    null = chance(before, population(3)).pies
    assert said(before, population(3)).images == (
        f"{null.observed} images change their modal label ({null.observed / 2:.1f}\u00a0%), no more than "
        f"expected by chance: {null.mean:.3g} would if compression did nothing (p\u00a0= {null.p:.2g})."
    )
    few = [population(i, members=2, hurt=[3] * i) for i in range(2)]
    assert said(*few).images.endswith("would by chance, and there are too few members to tell the two apart.")
    assert headlines(summary({"dense": before, "int8": population(3)}, permutations=0))[0].images == (
        f"{null.observed} images change their modal label ({null.observed / 2:.1f}\u00a0%)."
    )


def test_no_more_than_chance():
    """One class of 40 at p <= .05 is less than the two that chance gives."""
    rng = np.random.default_rng(3)
    labels = np.arange(2000) % 40

    def trained():
        right = rng.random((6, 2000)) < 0.8
        return Predictions.from_top1(labels, np.where(right, labels, (labels + 1) % 40))

    for _ in range(50):
        before, after = trained(), trained()
        counts = summary({"dense": before, "int8": after}).impacts["int8"].summary()
        if 0 < counts["significant"] <= 2 and not counts["significant_holm"]:
            break
    assert "no more than by chance" in said(before, after).classes


def test_single_members():
    assert said(population(1, members=1), population(2, members=1)).classes == ""
