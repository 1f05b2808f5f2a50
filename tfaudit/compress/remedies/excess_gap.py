"""A bound on the losses of groups beyond the average, inside `model.fit`: the callback `ExcessGap`."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import pandas as pd

from tfaudit.compress.litert.inference import decisions
from tfaudit.compress.remedies.class_scores import class_ids
from tfaudit.compress.remedies.held_out import HeldOut, HeldOutGroups
from tfaudit.compress.remedies.remedied_loss import Batch, model_inputs
from tfaudit.compress.remedies.remedy import Remedy
from tfaudit.errors import InputError, Notice
from tfaudit.predictions import Predictions
from tfaudit.runtime.backends import strategy_scope
from tfaudit.runtime.keras_internals import hold_in_model
from tfaudit.study.remedies import CLASS, ExcessGapRemedy


class ExcessGap(Remedy):
    """Callback that bounds how much more accuracy a class or group loses than average (Hashemizadeh et al. 2023).

    For each group g, it enforces a bound on accuracies of the dense baseline and the model on held-out examples:

        (baseline_g - model_g) - (baseline - model) <= epsilon.

    The loss of an example of group g in a batch of B examples, n_g of them of its group, is weighted by
    `(1 - sum of lambda) / B + lambda_g / n_g` in place of `1 / B`; the sum is over the groups in the batch, so the
    weights add up to 1. The multipliers lambda start at 0. Every `every` steps, each multiplier grows by `rate` times
    the amount by which its group exceeds the bound, or shrinks likewise, but not below 0. Accuracies use the latest
    predictions on the held-out examples; each update predicts the next `examples` of them again. Accuracies on training
    examples are unsuitable: they saturate, and the multipliers with them.

    The weights multiply class and sample weights, and the term of a `Distillation` in the same fit. The callback adds
    `excess_gap` to the logs of an epoch, the largest gap on the held-out examples (NaN before the first update).
    `frame()` lists all groups. Masks, `steps_per_execution`, mixed precision, distribution strategies and custom
    training steps work as described for `Distillation`.

    Args:
        baseline: the dense model: a Keras model, flatbuffer bytes or the path of either, whose predictions are computed
            right here (so it may be the model itself before it is pruned); its predicted classes `(N,)` on the held-out
            examples; or `Predictions` of them.
        validation: held-out examples: `(inputs, labels)`, a `tf.data.Dataset` of batches of them, or a `tfaudit` data
            set. They are held in memory, and must not be trained on.
        groups: None for the classes; the name of a column, or several names for their intersections. A column is an
            entry of a dictionary of inputs, in `validation` and in `fit`, whether the model takes it or not; in a study
            also a group of the data set; "class" names the classes. A value that no held-out example has belongs to no
            group.
        epsilon: tolerated excess, a share, at least 0.
        rate: step size of the multipliers, above 0.
        every: optimizer steps between two updates; at most one update per execution of `steps_per_execution`.
        examples: number of held-out examples that are predicted for each update.

    Raises:
        InputError: a setting, the baseline or the validation data cannot be used; in `fit`: the inputs lack a column,
            or the training step computes its loss elsewhere.

    >>> images, labels = np.zeros((4, 4), "float32"), np.array([0, 0, 1, 1])  # which no model tells apart
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    >>> gap = ExcessGap(labels, validation=(images, labels), epsilon=0.02, every=1)
    >>> _ = model.fit(images, labels, epochs=3, verbose=0, callbacks=[gap])
    >>> list(gap.frame().columns)
    ['group', 'examples', 'baseline', 'accuracy', 'excess_gap', 'multiplier']
    """

    def __init__(
        self,
        baseline: Any,
        groups: str | tuple[str, ...] | None = None,
        *,
        validation: Any,
        epsilon: float = 0.01,
        rate: float = 0.05,
        every: int = 50,
        examples: int = 1000,
    ) -> None:
        super().__init__()
        settings = ExcessGapRemedy(
            groups=groups, epsilon=epsilon, rate=rate, every=every, examples=examples
        )
        self._names = settings.names or (CLASS,)
        self._epsilon = float(epsilon)
        self._rate = float(rate)
        self._every = every
        self._examples = examples
        self._multipliers: keras.Variable | None = None
        self._release: Callable[[], None] = lambda: None
        self._acted = False  # whether any multiplier was above 0
        self._traced: HeldOutGroups | None = None
        self.hold_out(baseline, validation)

    def hold_out(self, baseline: Any, validation: Any) -> None:
        """Set another baseline and held-out examples for the next fit; the same groups need no new trace."""
        self._held_out = HeldOut.of(validation)
        self._groups = HeldOutGroups.of(self._held_out, self._names)
        inputs = self._held_out.inputs
        own_class = isinstance(inputs, dict) and CLASS in inputs
        self.columns = tuple(name for name in self._names if name != CLASS or own_class)
        self._baseline_right = self._predicted_by(baseline) == self._held_out.classes
        self._order = np.random.default_rng(0).permutation(len(self._held_out))
        self._right = np.full(len(self._held_out), np.nan)
        self._steps = self._next = 0

    def frame(self) -> pd.DataFrame:
        """Return the latest fit's groups: accuracies and excess gaps on held-out examples, and multipliers."""
        groups = self._groups
        multipliers = np.zeros(len(groups))
        if self._multipliers is not None:
            multipliers = self._multipliers.numpy().astype(float)
        return pd.DataFrame(
            {
                "group": groups.labels,
                "examples": np.bincount(groups.codes, minlength=len(groups)),
                "baseline": group_means(self._baseline_right, groups.codes, len(groups)),
                "accuracy": group_means(self._right, groups.codes, len(groups)),
                "excess_gap": self._gaps(),
                "multiplier": multipliers,
            }
        )

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Update the multipliers when they are due."""
        self._steps += self._together
        if self._steps >= self._every:
            self._steps = 0
            self._predict_next()
            assert self._multipliers is not None
            self._multipliers.assign(
                updated_multipliers(
                    self._multipliers.numpy(), self._gaps(), epsilon=self._epsilon, rate=self._rate
                )
            )
            self._acted |= bool(self._multipliers.numpy().any())

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Take the remedy off; warn if it never weighted a loss."""
        super().on_train_end(logs)
        if not self._acted:
            measured = np.isfinite(self._right).any()
            few = f"the fit had fewer than every={self._every} steps"
            reason = f"no excess gap exceeded epsilon={self._epsilon:g}" if measured else few
            text = f"ExcessGap: no loss was weighted, since {reason}"
            warnings.warn(Notice(text), stacklevel=2)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Add the largest excess gap to the logs."""
        if logs is not None:
            logs["excess_gap"] = float(pd.Series(self._gaps()).max())

    def training_state(self) -> dict[str, Any]:
        """Return what later steps of the fit depend on, by name."""
        assert self._multipliers is not None
        multipliers = self._multipliers.numpy()
        counts = {"steps": self._steps, "next": self._next}
        return {"multipliers": multipliers, "right": self._right, **counts}

    def restore_training(self, state: Mapping[str, np.ndarray]) -> None:
        """Take such a state."""
        assert self._multipliers is not None
        self._multipliers.assign(state["multipliers"])
        self._acted |= bool(state["multipliers"].any())
        self._right = state["right"].copy()
        self._steps, self._next = int(state["steps"]), int(state["next"])

    def example_weights(self, batch: Batch) -> Any:
        """Return the factors of the examples' losses, whose mean is 1."""
        assert self._multipliers is not None
        return group_weights(self._members(batch), keras.ops.convert_to_tensor(self._multipliers))

    def _begin(self, moved: bool) -> bool:
        retrace = moved or self._traced is None or not self._groups.same_as(self._traced)
        if retrace:
            self._traced = self._groups
            with strategy_scope(self.model):
                zeros = np.zeros(len(self._groups), np.float32)
                self._multipliers = keras.Variable(zeros, trainable=False)
        assert self._multipliers is not None
        self._multipliers.assign(np.zeros(len(self._groups), np.float32))
        self._together = self.model.steps_per_execution
        if keras.backend.backend() == "jax":
            self._release = hold_in_model(self.model, self._multipliers)
        self._acted = False
        self._right[:] = np.nan
        self._steps = self._next = 0
        return retrace

    def _detach(self) -> None:
        super()._detach()
        self._release()
        self._release = lambda: None

    def _members(self, batch: Batch) -> Any:
        """Return whether each example of a batch belongs to each group, bool `(B, G)`."""
        matches = []
        for name, values in zip(self._groups.names, self._groups.values, strict=True):
            if name in batch.columns:
                column = keras.ops.reshape(batch.columns[name], (-1,))
            else:
                column = class_ids(batch.targets, int(batch.outputs.shape[1]))
            known = keras.ops.convert_to_tensor(values, column.dtype)
            matches.append(keras.ops.equal(column[:, None], known[None]))
        return keras.ops.all(keras.ops.stack(matches), axis=0)

    def _predict_next(self) -> None:
        """Predict the next held-out examples with the current model."""
        count = len(self._held_out)
        chosen = self._order[(self._next + np.arange(min(self._examples, count))) % count]
        self._next = (self._next + len(chosen)) % count
        inputs = keras.tree.map_structure(lambda values: values[chosen], self._held_out.inputs)
        inputs = model_inputs(self.model, inputs, self.columns)
        predicted, _ = decisions(self.model, inputs, batch_size=len(chosen))
        self._right[chosen] = predicted == self._held_out.classes[chosen]

    def _gaps(self) -> np.ndarray:
        return excess_gaps(self._baseline_right, self._right, self._groups.codes, len(self._groups))

    def _predicted_by(self, baseline: Any) -> np.ndarray:
        held_out = self._held_out
        if isinstance(baseline, Predictions):
            if not np.array_equal(baseline.labels, held_out.classes):
                raise InputError(
                    "baseline", "labels that differ from those in validation", "the same examples"
                )
            return baseline.modal()
        if hasattr(baseline, "shape") or isinstance(baseline, list):
            predicted = np.asarray(baseline)
            if predicted.dtype.kind not in "iu" or predicted.shape != held_out.classes.shape:
                got = f"{predicted.dtype} of shape {predicted.shape}"
                raise InputError(
                    "baseline", got, f"integer classes of shape {held_out.classes.shape}"
                )
            return predicted
        inputs = held_out.inputs
        if hasattr(baseline, "layers"):
            inputs = model_inputs(baseline, inputs, self.columns)
        return decisions(baseline, inputs)[0]


def group_weights(members: Any, multipliers: Any) -> Any:
    """Return `1 - sum of lambda + B lambda_g / n_g` for each example; the sum is over the groups in the batch.

    An example without a group has `1 - sum of lambda`.

    Args:
        members: whether each example belongs to each group, bool `(B, G)`.
        multipliers: multipliers lambda, float32 `(G,)`.

    >>> members = np.array([[True, False], [False, True], [False, True]])
    >>> keras.ops.convert_to_numpy(group_weights(members, np.float32([0.5, 0])))
    array([2. , 0.5, 0.5], dtype=float32)
    """
    belongs = keras.ops.cast(members, "float32")
    counts = keras.ops.sum(belongs, axis=0)
    shares = keras.ops.divide_no_nan(multipliers, counts)
    present = keras.ops.sum(keras.ops.where(counts > 0, multipliers, 0.0))
    examples = keras.ops.cast(keras.ops.shape(members)[0], "float32")
    return 1 - present + examples * keras.ops.matmul(belongs, shares)


def excess_gaps(
    baseline: np.ndarray, right: np.ndarray, codes: np.ndarray, groups: int
) -> np.ndarray:
    """Return `(baseline_g - model_g) - (baseline - model)` of each group; NaN if no example is measured.

    Args:
        baseline: whether the baseline is right, bool `(N,)`.
        right: whether the model is right, float `(N,)`: 1 or 0, or NaN if not measured.
        codes: group of each example, integers from 0, `(N,)`.
        groups: number of groups.

    >>> excess_gaps(np.ones(4, bool), np.array([1.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1]), 2)
    array([ 0.25, -0.25])
    """
    loss = baseline - right
    return group_means(loss, codes, groups) - pd.Series(loss).mean()


def updated_multipliers(
    multipliers: np.ndarray, gaps: np.ndarray, *, epsilon: float, rate: float
) -> np.ndarray:
    """Return `max(lambda + rate (gap - epsilon), 0)` of each group; unmeasured groups keep their multipliers.

    >>> updated_multipliers(np.array([0.1, 0.0]), np.array([0.25, -0.25]), epsilon=0.05, rate=0.5)
    array([0.2, 0. ])
    """
    return np.maximum(multipliers + rate * (np.nan_to_num(gaps, nan=epsilon) - epsilon), 0.0)


def group_means(values: np.ndarray, codes: np.ndarray, groups: int) -> np.ndarray:
    """Return the mean of each group's values, ignoring NaN; NaN for a group without other values.

    >>> group_means(np.array([1.0, 0.0, np.nan]), np.array([0, 0, 1]), 2)
    array([0.5, nan])
    """
    means = pd.Series(values, dtype=float).groupby(codes).mean()
    return means.reindex(range(groups)).to_numpy()
