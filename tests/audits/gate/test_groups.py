"""The limit on named groups: losses of the groups alone, of which a loss at the limit rarely passes or fails."""

import numpy as np
import pandas as pd
import pytest

from tests.builders.nightly import and_nightly, noise
from tests.builders.populations import population
from tfaudit import InputError, Limits, Predictions, gate
from tfaudit.audits.gate.gate import judge
from tfaudit.audits.gate.measurements import measure
from tfaudit.stats.contingency import paired_interval

ONLY = Limits(group_drop_pp=5)


def pair(rng, sizes, losses):
    """One model and one compressed one, by group; the baseline is right on 90 %, and the compressed one loses more."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    labels = np.arange(len(groups)) % 3
    right = rng.random(len(groups)) < 0.9
    lost = right & (rng.random(len(groups)) < np.array(losses)[groups] / 0.9)
    wrong = (labels + 1) % 3
    before, after = (
        Predictions.from_top1(labels, np.where(kept, labels, wrong))
        for kept in (right, right & ~lost)
    )
    return before, after, pd.DataFrame({"sex": np.array(["a", "b", "c", "d"])[groups]})


def check(before, after, columns, **settings):
    (found,) = gate(before, after, ONLY, groups=columns, **settings).checks
    return found


def test_a_single_model_has_tangos_interval_of_the_group_alone(rng):
    before, after, columns = pair(rng, (400, 300, 200), (0.01, 0.2, 0.0))
    found = check(before, after, columns)
    here = (columns["sex"] == "b").to_numpy()
    was, now = (one.top1[0][here] == one.labels[here] for one in (before, after))
    low, high = paired_interval(
        np.array([np.sum(was & ~now)]), np.array([np.sum(now & ~was)]), np.array([300])
    )
    assert found.subject == "sex: b"
    assert found.outcome == "fail"
    assert found.value == pytest.approx(100 * (was.mean() - now.mean()))
    assert (found.low, found.high) == pytest.approx((-100 * high[0], -100 * low[0]))
    assert "sex: b (300 examples)" in found.sentence
    assert "1 of 3 groups fail: sex: b." in found.sentence


def test_groups_of_a_population_are_those_of_an_audit_of_their_images():
    before, after = population(1, examples=400), population(2, examples=400, hurt=(1,))
    columns = pd.DataFrame({"half": np.arange(400) // 200, "part": np.arange(400) % 4})
    losses = measure(before, after).with_groups(before, after, columns).groups
    assert losses.names == ("half: 0", "half: 1", *(f"part: {i}" for i in range(4)))
    for name, loss in zip(losses.names, losses.loss, strict=True):
        column, value = name.split(": ")
        here = (columns[column] == int(value)).to_numpy()
        change = before.correct()[:, here].mean() - after.correct()[:, here].mean()
        assert loss == pytest.approx(100 * change)
    assert losses.examples.tolist() == [200, 200, 100, 100, 100, 100]


def test_small_groups_are_named_or_judged_together(rng):
    before, after, columns = pair(rng, (2000, 5, 4, 3), (0.0, 0.0, 0.0, 0.0))
    found = check(before, after, columns)
    assert found.outcome == "cannot judge"
    assert "3 of 4 groups cannot be judged: sex: " in found.sentence
    together = check(before, after, columns, min_group=10)
    assert together.subject == "sex: 3 groups below 10 (b, c, d)"
    assert "(12 examples)" in together.sentence
    losses = measure(before, after).with_groups(before, after, columns, least=10).groups
    assert losses.examples.tolist() == [2000, 12]


def test_without_groups_the_limit_cannot_be_judged(rng):
    before, after, columns = pair(rng, (100, 100), (0.0, 0.0))
    (unknown,) = judge(measure(before, after), ONLY).checks
    assert unknown.outcome == "cannot judge"
    assert "--groups TABLE" in unknown.sentence
    for groups, message in (
        (columns.head(9), "sex: got shape"),
        (columns[[]], "groups: got 'no columns'"),
    ):
        with pytest.raises(InputError, match=message):
            gate(before, after, ONLY, groups=groups)


@pytest.mark.parametrize(("loss", "outcome"), [(0.055, "pass"), (0.045, "fail"), (0.05, "fail")])
@pytest.mark.parametrize(
    ("sizes", "studies"),
    and_nightly(
        [((300, 300, 300, 300), 40)],
        [(sizes, 200) for sizes in ((500, 500), (2000, 60, 60), (300, 300, 300, 300))],
    ),
)
def test_a_loss_near_the_limit_is_rarely_misjudged(sizes, studies, loss, outcome):
    """Every group but the first loses as much."""
    rng = np.random.default_rng(5)
    losses = [0.0, *[loss] * (len(sizes) - 1)]
    found = [check(*pair(rng, sizes, losses)).outcome for _ in range(studies)]
    assert np.mean(np.array(found) == outcome) <= 0.05 + noise(0.05, studies)


def test_missing_values_are_a_group_and_corrected_measurements_have_groups(rng):
    before, after, columns = pair(rng, (100, 100), (0.0, 0.3))
    columns["sex"] = columns["sex"].where(columns["sex"] == "a")
    both = measure(before, after, variants=4).with_groups(before, after, columns)
    assert both.groups.names == ("sex: a", "sex: (missing)")
    assert (both.corrected.groups.low <= both.groups.low).all()
