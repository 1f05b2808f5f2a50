"""Verdicts at known losses: a loss of 1.1 times the limit seldom passes, one of .9 times seldom fails."""

import dataclasses

import numpy as np
import pytest

from tests.extensions.detection.simulated import Scenes
from tfaudit.extensions.detection import detection
from tfaudit.extensions.detection.limits import BoxLimits

QUANTITIES = ("box_recall_drop_pp", "false_positives_per_image", "map_drop_pp")


def measured(monkeypatch, scenes, rng, images):
    """The comparison of simulated matches."""
    monkeypatch.setattr(detection, "matched", lambda truth, matches: matches)
    truth, before, after = scenes.draw(rng, images)
    paired = scenes.members > 1
    return detection.detect(truth, before, after, threshold=0.5, paired=paired or None)


def wrong_verdicts(monkeypatch, scenes, images, studies, seed):
    """Shares of wrong passes and wrong failures, by quantity."""
    rng = np.random.default_rng(seed)
    large = dataclasses.replace(scenes, members=12 * scenes.members if scenes.members > 1 else 1)
    many = measured(monkeypatch, large, rng, 20_000 // large.members)
    check = many.verdict(BoxLimits(**dict.fromkeys(QUANTITIES, 1))).frame().set_index("check")
    true = check["value"].to_dict() | {
        "box_recall_drop_pp": -many.table["change_pp"][0]
    }  # of any class
    wrong = {name: np.zeros(2) for name in QUANTITIES}
    for _ in range(studies):
        result = measured(monkeypatch, scenes, rng, images)
        for place, (factor, outcome) in enumerate(((1.1, "pass"), (0.9, "fail"))):
            limits = BoxLimits(**{name: true[name] / factor for name in QUANTITIES})
            for one in result.verdict(limits).checks:
                wrong[one.name][place] += one.outcome == outcome
    return {name: counts / studies for name, counts in wrong.items()}


@pytest.mark.slow
def test_wrong_verdicts_are_rare(monkeypatch):
    wrong = wrong_verdicts(monkeypatch, Scenes(), 150, 100, 0)
    assert max(map(max, wrong.values())) <= 0.08, wrong


@pytest.mark.nightly
@pytest.mark.parametrize("images", [25, 40, 150, 1000])
@pytest.mark.parametrize("loss", [0.03, 0.08])
@pytest.mark.parametrize("members", [1, 3])
def test_wrong_verdicts_are_at_most_five_percent(monkeypatch, images, loss, members):
    studies = 1000 if members == 1 else 300
    wrong = wrong_verdicts(monkeypatch, Scenes(loss, members), images, studies, 1)
    assert max(map(max, wrong.values())) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / studies), wrong
