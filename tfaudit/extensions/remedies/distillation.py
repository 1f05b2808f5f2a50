"""Knowledge distillation inside `model.fit`, plain or focal: the callback `Distillation`."""

from typing import Any

import keras

from tfaudit.compress.class_ids import class_ids
from tfaudit.compress.keras_model import check_model, output_names
from tfaudit.compress.model_files import open_model
from tfaudit.errors import InputError, one_line
from tfaudit.extensions.remedies.augmented_inputs import AugmentedInputs
from tfaudit.extensions.remedies.class_scores import known_probabilities, log_scores
from tfaudit.extensions.remedies.remedied_loss import Batch
from tfaudit.extensions.remedies.remedy import Remedy
from tfaudit.extensions.remedies.settings import DistillationRemedy
from tfaudit.runtime.backends import strategy_scope


class Distillation(Remedy):
    """Callback that trains a compressed model towards the scores of the dense one: `fit(..., callbacks=[...])`.

    To the model's own loss it adds the mean over the batch of

        weight * temperature**2 * focus_i * KL(p_i || q_i),

    where p and q are the softmax of the teacher's and of the model's logits divided by the temperature (Hinton, Vinyals
    and Dean 2015). `focus_i = alpha + beta * [the teacher is right on i]`: with `beta > 0`, the model is drawn more
    strongly to the teacher on examples that the teacher gets right, since only these can become negative flips (focal
    distillation, positive-congruent training, Yan et al. 2021). Class and sample weights multiply this term as they
    multiply the loss.

    The teacher runs in inference mode on the batch that the model trains on: augmented by the data pipeline, or by
    random layers of the model. The loss, its metrics, `steps_per_execution`, mixed precision, distribution strategies
    and callbacks that hold masks work as usual; validation losses do not contain the term. A custom `train_step` works
    if it calls `self.compute_loss(x=x, y=y, y_pred=y_pred)`, and is refused otherwise.

    Args:
        teacher: a Keras 3 model for the same inputs and classes, or the path of one. Its weights are copied here, so
            it may be the model itself before it is pruned. The attribute may be replaced between two fits by another
            model of the same architecture, without a new trace.
        temperature: temperature of the softmax, above 0.
        weight: factor of the term, above 0.
        focus: pair `(alpha, beta)`, both at least 0; by default `(1, 0)`, plain distillation.
        from_logits: whether both models return logits; by default their last layers show it.

    Raises:
        InputError: a setting or the teacher cannot be used; in `fit`: the model has another number of classes or
            several outputs, or its training step computes the loss elsewhere.

    >>> import numpy as np
    >>> model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    >>> distillation = Distillation(model, temperature=2.0)
    >>> _ = model.layers[0].kernel.assign(0 * model.layers[0].kernel)
    >>> model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    >>> _ = model.fit(np.ones((64, 8)), np.zeros(64), verbose=0, callbacks=[distillation])
    """

    def __init__(
        self,
        teacher: Any,
        *,
        temperature: float = 4.0,
        weight: float = 1.0,
        focus: tuple[float, float] | None = None,
        from_logits: bool | None = None,
    ) -> None:
        super().__init__()
        settings = DistillationRemedy(temperature=temperature, weight=weight, focus=focus)
        self._temperature = float(temperature)
        self._weight = float(weight)
        self._alpha, self._beta = map(float, settings.focus or (1, 0))
        self._from_logits = from_logits
        self._copy: keras.Model | None = None
        self._augmented: AugmentedInputs | None = None
        self.teacher = teacher

    @property
    def teacher(self) -> keras.Model:
        """Teacher model."""
        return self._teacher

    @teacher.setter
    def teacher(self, teacher: Any) -> None:
        if isinstance(opened := open_model(teacher), bytes):
            raise InputError(
                "teacher", "a flatbuffer", "a Keras 3 model: only its scores are gradients' targets"
            )
        self._teacher = check_model(opened)
        if len(names := output_names(self._teacher)) > 1:
            raise InputError(
                "teacher", f"{self._teacher.name!r} with outputs {', '.join(names)}", "one output"
            )
        self._values = self._teacher.get_weights()
        self._stale = True

    def _begin(self, moved: bool) -> bool:
        copy = self._copy
        shapes = [value.shape for value in self._values]
        retrace = moved or copy is None or shapes != [weight.shape for weight in copy.weights]
        # A step that JAX has compiled holds the teacher's weights as constants.
        retrace |= self._stale and keras.backend.backend() == "jax"
        if copy is None or retrace:
            with strategy_scope(self.model):
                copy = self._copied()
        if retrace or self._stale:
            copy.set_weights(self._values)
        self._copy, self._stale = copy, False
        self._probabilities = known_probabilities(self.model, self._from_logits)
        self._of_teacher = known_probabilities(self._teacher, self._from_logits)
        self._augmented = AugmentedInputs(self.model, copy)
        self._augmented.record()
        return retrace

    def _copied(self) -> keras.Model:
        try:
            return keras.models.clone_model(self._teacher)
        except Exception as problem:  # a subclassed model without get_config may raise anything
            if self._teacher is self.model:
                got = f"the model that is trained, which cannot be copied ({one_line(problem)})"
                raise InputError(
                    "teacher", got, "a second model with the dense weights"
                ) from problem
            return self._teacher

    def _detach(self) -> None:
        super()._detach()
        if self._augmented is not None:
            self._augmented.stop()

    def penalty(self, batch: Batch, weights: Any | None) -> Any:
        """Return the batch mean of the weighted divergences."""
        if batch.inputs is None:
            got = f"{self.model.name!r}, whose train_step calls compute_loss without the inputs"
            raise InputError("model", got, "self.compute_loss(x=x, y=y, y_pred=y_pred, ...)")
        assert self._augmented is not None
        wanted = log_scores(self._augmented.teacher_outputs(batch.inputs), self._of_teacher)
        scores = log_scores(batch.outputs, self._probabilities)
        if wanted.shape[1] != scores.shape[1]:
            expected = f"{scores.shape[1]}, as {self.model.name!r} has"
            raise InputError("teacher", f"{wanted.shape[1]} classes", expected)
        divergences = softened_divergences(
            keras.ops.stop_gradient(wanted), scores, self._temperature
        )
        focus: Any = self._alpha
        if self._beta:
            classes = class_ids(batch.targets, int(batch.outputs.shape[1]))
            focus += self._beta * keras.ops.cast(
                keras.ops.argmax(wanted, axis=1) == classes, "float32"
            )
        divergences *= focus
        if weights is not None:
            divergences *= weights
        return self._weight * keras.ops.mean(divergences)


def softened_divergences(teacher: Any, student: Any, temperature: float) -> Any:
    """Return `temperature**2 * KL(softmax(teacher / temperature) || softmax(student / temperature))` for each row.

    >>> student = keras.ops.log(keras.ops.array([[1.0, 3.0]]))
    >>> keras.ops.convert_to_numpy(softened_divergences(keras.ops.zeros((1, 2)), student, 1.0)).round(4)
    array([0.1438], dtype=float32)
    """
    targets = keras.ops.log_softmax(teacher / temperature)
    logs = keras.ops.log_softmax(student / temperature)
    return temperature**2 * keras.ops.sum(keras.ops.exp(targets) * (targets - logs), axis=1)
