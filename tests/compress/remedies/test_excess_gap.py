"""Weights and multipliers of the excess-gap constraint against the definition, by loops over examples and groups."""

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import tfaudit
from tests.builders.equality import assert_all_close
from tests.builders.remedy_nets import CLASSES, HELD_OUT, X, Y, compiled, fit, net
from tfaudit import ExcessGap, InputError
from tfaudit.compress.remedies.excess_gap import excess_gaps, group_weights, updated_multipliers
from tfaudit.compress.remedies.remedied_loss import Batch

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("trial", range(4))
def test_weights_are_those_of_the_lagrangian(trial):
    """Weighted mean losses equal `L + sum of lambda_g (L_g - L)` over the groups of the batch, for any losses."""
    rng = np.random.default_rng(trial)
    groups, losses, multipliers = (
        rng.integers(0, 5, 12),
        rng.random(12),
        rng.random(5).astype(np.float32),
    )
    present = np.unique(groups)
    wanted = losses.mean() + sum(
        multipliers[g] * (losses[groups == g].mean() - losses.mean()) for g in present
    )
    weights = group_weights(
        tf.constant(groups[:, None] == np.arange(5)), tf.constant(multipliers)
    ).numpy()
    np.testing.assert_allclose((weights * losses).mean(), wanted, rtol=1e-5)
    np.testing.assert_allclose(weights.mean(), 1, rtol=1e-5)
    for i, g in enumerate(groups):
        single = 1 / 12 * (1 - multipliers[present].sum()) + multipliers[g] / (groups == g).sum()
        np.testing.assert_allclose(weights[i] / 12, single, atol=1e-6)


def test_gaps_by_loops():
    baseline, right, codes = (
        RNG.random(60) < 0.9,
        (RNG.random(60) < 0.7).astype(float),
        RNG.integers(0, 3, 60),
    )
    right[RNG.random(60) < 0.3] = np.nan
    seen = [i for i in range(60) if right[i] == right[i]]
    overall = np.mean([baseline[i] - right[i] for i in seen])
    for g, gap in enumerate(excess_gaps(baseline, right, codes, 4)):
        own = [baseline[i] - right[i] for i in seen if codes[i] == g]
        np.testing.assert_allclose(gap, np.mean(own) - overall if own else np.nan)


@pytest.mark.slow
def test_the_multipliers_find_the_solution_of_a_problem_with_a_known_one():
    """Two groups, one weight w: losses `(w - 0)^2` and `(w - 1)^2`, gap of group 1 over the mean `(1 - w)^2 - mean`.

    Without the constraint w = .5 under equal shares .9 and .1: w = .1. The bound `loss_1 - loss <= .1`, that is
    `.9 ((1 - w)^2 - w^2) <= .1`, binds at w = 4/9. There the gradient of the Lagrangian vanishes:
    `2 w - .2 + lambda .9 (-2) = 0`, so lambda = .38272.
    """
    w, multipliers = 0.1, np.zeros(2)
    shares = np.array([0.9, 0.1])
    members = tf.constant(np.repeat(np.eye(2, dtype=bool), [9, 1], axis=0))
    for _ in range(1200):
        losses = np.array([w**2, (1 - w) ** 2])
        gaps = losses - shares @ losses
        multipliers = updated_multipliers(multipliers, gaps, epsilon=0.1, rate=0.2)
        weights = group_weights(members, tf.constant(multipliers, tf.float32)).numpy()
        slopes = np.repeat([2 * w, 2 * (w - 1)], [9, 1])
        w -= 0.1 * (weights * slopes).mean()
    np.testing.assert_allclose([w, *multipliers], [4 / 9, 0, (8 / 9 - 0.2) / 1.8], atol=1e-4)


def by_hand(steps, every, examples, epsilon, rate, model, baseline):
    """Train as `ExcessGap` has to, in loops: weights of Keras' own `sample_weight`, updates between the steps."""
    multipliers, right = np.zeros(CLASSES), np.full(len(HELD_OUT[1]), np.nan)
    order, following = np.random.default_rng(0).permutation(len(right)), 0
    for step in range(steps):
        start = 16 * (step % 4)
        x, y = X[start : start + 16], Y[start : start + 16]
        present = np.unique(y)
        own = np.array(
            [1 - multipliers[present].sum() + 16 * multipliers[c] / (y == c).sum() for c in y]
        )
        model.train_on_batch(x, y, sample_weight=own)
        if (step + 1) % every == 0:
            chosen = order[(following + np.arange(examples)) % len(order)]
            following += examples
            right[chosen] = (
                model.predict_on_batch(HELD_OUT[0][chosen]).argmax(1) == HELD_OUT[1][chosen]
            )
            seen = ~np.isnan(right)
            loss = (baseline == HELD_OUT[1]).astype(float) - np.nan_to_num(right)
            for c in range(CLASSES):
                if (seen & (HELD_OUT[1] == c)).any():
                    gap = loss[seen & (HELD_OUT[1] == c)].mean() - loss[seen].mean()
                    multipliers[c] = max(multipliers[c] + rate * (gap - epsilon), 0)
    return multipliers


@pytest.mark.slow
def test_a_fit_equals_the_algorithm_by_hand():
    settings = {"every": 2, "examples": 20, "epsilon": 0.02, "rate": 0.5}
    model, twin = compiled(net()), compiled(net())
    gap = ExcessGap(HELD_OUT[1], validation=HELD_OUT, **settings)
    history = fit(model, gap, epochs=3).history
    wanted = by_hand(12, model=twin, baseline=HELD_OUT[1], **settings)
    frame = gap.frame()
    assert (wanted > 0).any()
    np.testing.assert_allclose(frame["multiplier"], wanted, atol=1e-5)
    assert history["excess_gap"][-1] == frame["excess_gap"].max()
    assert_all_close(model.get_weights(), twin.get_weights(), atol=1e-5)


def test_the_baseline_in_all_its_forms():
    model = net(7)
    answers = model.predict(HELD_OUT[0], verbose=0).argmax(1)
    scores = model.predict(HELD_OUT[0], verbose=0)
    members = tfaudit.Predictions.from_scores(HELD_OUT[1], scores)
    wanted, *others = (
        ExcessGap(baseline, validation=HELD_OUT).frame() for baseline in (answers, model, members)
    )
    for frame in others:
        pd.testing.assert_frame_equal(frame, wanted)
    right = pd.Series(answers == HELD_OUT[1])
    assert wanted["baseline"].tolist() == right.groupby(HELD_OUT[1]).mean().tolist()
    assert wanted["examples"].sum() == len(HELD_OUT[1])


SITE = np.array(["b", "a"])[np.arange(96) % 2]
DAY = (np.arange(96) // 2) % 3


def with_columns(part):
    return {"features": X[part], "site": SITE[part], "day": DAY[part]}


def wide(names):
    """Return only the columns of these names besides the features."""
    return lambda part: {
        name: values for name, values in with_columns(part).items() if name in ("features", *names)
    }


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ("site", ["a", "b"]),
        (("day", "site"), ["0, a", "0, b", "1, a", "1, b", "2, a", "2, b"]),
        (("site", "class"), 8),
    ],
)
def test_groups_by_columns_that_the_model_does_not_take(groups, names):
    model = compiled(net())
    train, held = slice(0, 64), slice(64, 96)
    columns = wide([groups] if isinstance(groups, str) else groups)
    remedy = ExcessGap(
        HELD_OUT[1], groups, validation=(columns(held), Y[held]), every=1, rate=1.0, epsilon=0.0
    )
    data = tf.data.Dataset.from_tensor_slices((columns(train), Y[train])).batch(16)
    fit(model, remedy, x=data, y=None, batch_size=None)
    frame = remedy.frame()
    assert (frame["group"].tolist() == names) if isinstance(names, list) else len(frame) == names
    table = pd.DataFrame({"site": SITE[held], "day": DAY[held], "class": Y[held]})
    wanted = table.groupby([groups] if isinstance(groups, str) else list(groups)).size()
    assert frame["examples"].tolist() == wanted.tolist()
    assert (frame["multiplier"] > 0).any()


def test_a_batch_knows_the_groups_of_its_examples():
    remedy = ExcessGap(
        HELD_OUT[1], ("site", "day"), validation=(with_columns(slice(64, 96)), HELD_OUT[1])
    )
    columns = {"site": tf.constant(["b", "a", "c"]), "day": tf.constant([[0], [2], [0]])}
    members = remedy._members(Batch(None, None, tf.zeros((3, 4)), columns)).numpy()
    names = remedy.frame()["group"].tolist()
    assert [[names[g] for g in np.flatnonzero(row)] for row in members] == [["b, 0"], ["a, 2"], []]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": -0.1}, "epsilon: got -0.1, expected a share, 0 or more"),
        ({"rate": 0}, "rate: got 0, expected a number above 0"),
        ({"every": 0}, "every: got 0, expected 1 or more"),
        ({"examples": 0}, "examples: got 0, expected 1 or more"),
        ({"groups": "age"}, "groups: got 'age', expected columns of validation: class"),
        ({"groups": ()}, r"groups: got \(\), expected None, the name of a column"),
        ({"validation": 3}, r"validation: got int, expected \(inputs, labels\)"),
        ({"validation": (X, Y[:5])}, r"validation: got labels of shape \(5,\) for 96 inputs"),
        ({"validation": []}, "validation: got no batches, expected one batch or more"),
        (
            {"baseline": Y[:5]},
            r"baseline: got int64 of shape \(5,\), expected integer classes of shape \(32,\)",
        ),
    ],
)
def test_settings_that_are_refused(settings, message):
    with pytest.raises(InputError, match=message) as caught:
        ExcessGap(**{"baseline": HELD_OUT[1], "validation": HELD_OUT, **settings})
    assert "\n" not in str(caught.value)


def test_a_fit_without_the_column_is_refused_before_it_begins():
    remedy = ExcessGap(HELD_OUT[1], "site", validation=(with_columns(slice(64, 96)), HELD_OUT[1]))
    model = compiled(net())
    before = model.get_weights()
    with pytest.raises(
        InputError,
        match="groups: got inputs without names, expected a dictionary of inputs with site",
    ):
        fit(model, remedy)
    assert_all_close(before, model.get_weights())


def test_a_fit_that_ends_before_the_first_update_says_so():
    gap = ExcessGap(HELD_OUT[1], validation=HELD_OUT, every=1000)
    with pytest.warns(UserWarning, match="no loss was weighted, since the fit had fewer than eve"):
        fit(compiled(net()), gap)


@pytest.mark.slow
def test_no_multiplier_no_change():
    """With a bound that nothing exceeds a fit is the plain one."""
    model, twin = compiled(net()), compiled(net())
    with pytest.warns(UserWarning, match="no loss was weighted, since no excess gap exceeded eps"):
        fit(model, ExcessGap(HELD_OUT[1], validation=HELD_OUT, epsilon=1.0, every=1))
    fit(twin)
    assert_all_close(model.get_weights(), twin.get_weights(), atol=1e-6)
