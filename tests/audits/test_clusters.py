"""Clusters of images in every audit: with copies of an image as a cluster, intervals are those of single images."""

import numpy as np
import pandas as pd
import pytest

import tfaudit
from tests.builders.simulated_studies import Truth, simulate
from tfaudit.audits.gate.measurements import measure
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

COPIES = 4


def with_probabilities(population, rng):
    """The same classes, with another class in second place and the probabilities of both."""
    first = rng.uniform(0.5, 1, population.top1.shape)
    ranked = np.stack([population.top1, (population.top1 + 1) % 10], axis=2)
    return copied(population, 1, ranked, np.stack([first, 1 - first], axis=2))


def copied(population, times, ranked=None, probabilities=None):
    """Every image several times, the copies of each as a cluster."""
    ranked = population.ranked if ranked is None else ranked
    known = population.probabilities if probabilities is None else probabilities
    return Predictions(
        np.repeat(population.labels, times),
        np.repeat(ranked, times, axis=1),
        None if known is None else np.repeat(known, times, axis=1),
        class_names=population.class_names,
        parents=population.parents,
        clusters=None if times == 1 else np.repeat(np.arange(len(population.labels)), times),
    )


def sides(members, seed=3):
    """A study of pairs with probabilities."""
    rng = np.random.default_rng(seed)
    truth = Truth(paired=True, everywhere=0.05, image_shift=0.4)
    pair = simulate(truth, seed, members=members, images=30)
    return [with_probabilities(side, rng) for side in pair]


def columns(times):
    """Two columns of groups."""
    positions = np.repeat(np.arange(300), times)
    return pd.DataFrame({"half": positions % 2, "third": positions // 10 % 3})


def slope_frame(slope):
    """The corrected slope with its interval."""
    low, high = slope.interval()
    return pd.DataFrame({"slope": slope.value, "low": low, "high": high})


AUDITS = {
    "class_impact": lambda b, a, times: tfaudit.class_impact(b, a).frame(),
    "groups": lambda b, a, times: tfaudit.groups(b, a, columns(times)["half"]).frame(),
    "intersections": lambda b, a, times: tfaudit.audits.intersections(b, a, columns(times)).frame(),
    "cells": lambda b, a, times: (
        tfaudit.audits.intersections(b, a, columns(times))
        .cell_frame()
        .sort_values("group", ignore_index=True)
    ),
    "flips": lambda b, a, times: tfaudit.audits.flip_rates(b, a).frame(),
    # The last measure is free of the bias of single images.
    "calibration": lambda b, a, times: tfaudit.audits.calibration(b, a).frame()[:-1],
    "confidence of classes": lambda b, a, times: tfaudit.audits.calibration(b, a).class_frame(),
    "robustness": lambda b, a, times: tfaudit.robustness(
        {("fog", 1): b}, {("fog", 1): a}, clean=(b, b)
    ).severity_frame(),
    "corrupted classes": lambda b, a, times: tfaudit.robustness(
        {("fog", 1): b}, {("fog", 1): a}, clean=(b, b)
    ).class_frame(),
    "distortion": lambda b, a, times: slope_frame(tfaudit.distortion(b, a).corrected),
    "gate": lambda b, a, times: pd.DataFrame(
        {k: v for k, v in vars(measure(b, a).classes).items() if k not in ("units", "change")}
    ),
}


@pytest.mark.parametrize("audit", AUDITS)
def test_copies_change_no_interval(audit):
    pair = sides(3)
    once = AUDITS[audit](*pair, 1)
    copies = AUDITS[audit](*(copied(side, COPIES) for side in pair), COPIES)
    counted = {"examples", "lost", "won", "per_image"}
    published = {name for name in once if name.startswith("published")}
    ends = [name for name in once if name not in counted | published]
    assert any("low" in name for name in ends)
    pd.testing.assert_frame_equal(copies[ends], once[ends], rtol=1e-6)


def test_single_models_have_intervals_over_clusters():
    pair = [copied(side, 20) for side in sides(1)]
    alone = [without_clusters(side) for side in pair]
    for figures in (
        lambda one: one.overall,
        lambda one: one.flips,
        lambda one: one.negative_flips,
    ):
        known, unknown = (figures(measure(*both)) for both in (pair, alone))
        assert np.all(known.high - known.low > 2 * (unknown.high - unknown.low))
    frames = [tfaudit.compare(*both).frame() for both in (pair, alone)]
    width = [frame["change_high_pp"] - frame["change_low_pp"] for frame in frames]
    assert (width[0] > 2 * width[1]).all()
    assert frames[0]["p_mid"].isna().all()
    assert (
        "Intervals are over 300 clusters of the 6,000 examples" in tfaudit.compare(*pair).notes[0]
    )


def without_clusters(population):
    """The same predictions of images that count as independent."""
    return Predictions(population.labels, population.ranked, class_names=population.class_names)


def test_the_gate_plans_images_of_new_clusters():
    before, after = (copied(side, 20) for side in sides(1))
    measured = measure(before, after)
    assert measured.classes.units == pytest.approx(30)
    needed = measured.decides(measured.overall, 0, float(measured.overall.loss[0]) - 0.5)
    once = measure(*sides(1))
    alone = once.decides(once.overall, 0, float(once.overall.loss[0]) - 0.5)
    assert needed.images / 20 == pytest.approx(alone.images, rel=0.1)


def test_clusters_are_names_of_any_type_and_agree():
    names = ["film b", None, "film a", "film b"]
    known = Predictions.from_top1([0, 1, 0, 1], [0, 0, 0, 0], clusters=names)
    assert known.clusters.tolist() == [1, 2, 0, 1]
    assert known.by_argmax().clusters is known.clusters
    unknown = Predictions.from_top1([0, 1, 0, 1], [0, 0, 0, 0])
    notes = [tfaudit.compare(*both).notes for both in ((known, unknown), (unknown, known))]
    assert all("3 clusters of the 4 examples" in " ".join(texts) for texts in notes)
    other = Predictions.from_top1([0, 1, 0, 1], [0, 0, 0, 0], clusters=[0, 1, 2, 3])
    with pytest.raises(InputError, match="clusters that differ from the baseline's"):
        tfaudit.compare(known, other)
    with pytest.raises(InputError, match="clusters: got shape"):
        Predictions.from_top1([0, 1], [0, 0], clusters=["a"])
