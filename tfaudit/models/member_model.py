"""The model of a study's members: an architecture by name, a model file, or a user's function."""

from __future__ import annotations

import inspect
from typing import Any

import keras
import numpy as np

from tfaudit.compress.keras_model import ends_in_probabilities, require_keras_model
from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError, one_line, require
from tfaudit.models.pretrained import load_pretrained
from tfaudit.models.registry import build_model
from tfaudit.runtime.user_functions import call, check_call, import_reference
from tfaudit.study.study import Study
from tfaudit.study.training import Training

CHECKED = 32  # number of examples for which outputs are checked


def build_member(study: Study, data: Dataset, seed: int) -> keras.Model:
    """Return a new model with the initial weights of a seed; it is compiled only if a user's function compiled it.

    Raises:
        InputError: the model does not exist, its function cannot be called, or it does not fit the data.
    """
    precision = study.training.precision if isinstance(study.training, Training) else "float32"
    policy = keras.config.dtype_policy()
    keras.utils.set_random_seed(seed)
    keras.config.set_dtype_policy(precision)
    try:
        return _build(study, data, seed)
    finally:
        keras.config.set_dtype_policy(policy)


def strip_compilation(model: keras.Model) -> keras.Model:
    """Return the model itself, no longer compiled: it then saves without its optimizer."""
    model.optimizer, model.compiled = None, False
    return model


def check_outputs(model: keras.Model, data: Dataset, name: str) -> None:
    """Raise an `InputError` unless the model takes the data and gives a score per class, or one logit for two classes.

    `name` is the name of the model in the error.
    """
    inputs = _first_inputs(data, 2)
    try:
        outputs = model(inputs, training=False)
    except Exception as problem:  # Keras passes on any exception of its layers
        reason = f"{type(problem).__name__}: {one_line(problem)}"
        got = f"{name}, which cannot take the examples of {data.name!r} ({reason})"
        raise InputError(
            "model", got, f"a model for inputs of shape {data.input_shape}"
        ) from problem
    binary = data.num_classes == 2
    units = f"{data.num_classes} scores per example{' or one logit' if binary else ''}"
    if not hasattr(outputs, "shape"):
        raise InputError("model", f"{name} with several outputs", f"one output, {units}")
    shape = tuple(outputs.shape)
    if shape != (2, data.num_classes) and not (binary and shape == (2, 1)):
        got = f"{name}, which gives scores of shape {shape} for 2 examples of {data.name!r}"
        more = ", ..." if data.num_classes > 5 else ""
        classes = ", ".join(data.class_names[:5])
        raise InputError("model", got, f"{units}: classes are {classes}{more}")
    if not np.isfinite(keras.ops.convert_to_numpy(outputs).astype(np.float64)).all():
        got = f"{name}, which gives scores of NaN or infinity before any training"
        raise InputError("model", got, "finite scores")
    if model.compiled:
        _check_own_loss(model, data, name)


def _check_own_loss(model: keras.Model, data: Dataset, name: str) -> None:
    """Raise an `InputError` unless the loss that a model was compiled with takes the targets of the data."""
    count = (
        3 if data.num_classes == 2 else 2
    )  # not the number of classes, to which Keras would stretch the targets
    inputs = _first_inputs(data, count)
    few = data.take(count)
    targets = few.labels if few.targets is None else few.targets
    try:
        model.compute_loss(
            x=inputs, y=keras.ops.convert_to_tensor(targets), y_pred=model(inputs, training=False)
        )
    except Exception as problem:
        got = f"{name}, compiled with a loss that fails on labels {targets.shape[1:] or 'of one integer'} per example"
        expected = (
            "a loss for these, such as SparseCategoricalCrossentropy for integers, or no compile"
        )
        raise InputError(
            "model", f"{got} ({type(problem).__name__}: {one_line(problem)})", expected
        ) from problem


def check_seeds(study: Study, data: Dataset, model: keras.Model) -> None:
    """Raise an `InputError` if members that should be independent start from equal weights; `model` has seed 0."""
    untrained = isinstance(study.training, Training) and study.training.epochs == 0
    if study.population == 1 or untrained or study.initialise in ("file", "same"):
        return
    other = build_member(study, data, 1)
    pairs = list(zip(model.trainable_variables, other.trainable_variables, strict=False))
    if all(np.array_equal(first.numpy(), second.numpy()) for first, second in pairs):
        got = f"{study.model.rpartition('/')[2]!r}, which gives members of different seeds the same initial weights"
        remedy = "'file'" if study.initialise else "'same'"
        how = f"initial weights drawn with Keras' global seed, or initialise={remedy} where members are to share theirs"
        raise InputError("model", got, how)


def gives_probabilities(model: keras.Model, data: Dataset) -> bool:
    """Return whether the outputs are probabilities, judging by the last layer or, if unclear, by some scores."""
    known = ends_in_probabilities(model)
    if known is not None:
        return known
    outputs = model(_first_inputs(data, CHECKED), training=False)
    scores = keras.ops.convert_to_numpy(outputs).astype(np.float64)
    in_range = bool(((scores >= 0) & (scores <= 1)).all())
    return in_range and (
        scores.shape[1] == 1 or bool(np.allclose(scores.sum(axis=1), 1, atol=1e-3))
    )


def _first_inputs(data: Dataset, count: int) -> Any:
    """Return the inputs of the first examples as tensors of the types that the model takes."""
    return data.as_floats(keras.tree.map_structure(keras.ops.convert_to_tensor, data.head(count)))


def _build(study: Study, data: Dataset, seed: int) -> keras.Model:
    name = study.model
    options = dict(study.model_options)
    if study.model_source.is_file:
        return load_pretrained(name, data.input_shape, fresh=study.initialise == "fresh", **options)
    if study.model_source.is_function:
        return _build_own(name, data, seed, options)
    if not {"mean", "std"} <= options.keys():
        mean, std = data.moments()
        options = {"mean": mean.tolist(), "std": std.tolist(), **options}
    return build_model(name, data.fixed_shape(), data.num_classes, **options)


def _build_own(reference: str, data: Dataset, seed: int, options: dict[str, Any]) -> keras.Model:
    function = import_reference("model", reference)
    offered = {"input_shape": data.input_shape, "num_classes": data.num_classes, "seed": seed}
    parameters = inspect.signature(function).parameters
    for option in options:
        require(option in parameters, "model_options", option, f"parameters of {reference!r}")
    named = {name: value for name, value in offered.items() if name in parameters} | options
    expected = "build() with any of input_shape, num_classes, seed, and the model_options"
    check_call("model", reference, function, expected, **named)
    model = call("model", reference, function, **named)
    short = f"{reference.rpartition('/')[2]!r}"
    if not isinstance(model, keras.Model):
        require_keras_model(model, f"a Keras 3 model from {short}")
    if not model.built or not all(layer.built for layer in model.layers):
        got = f"{short}, whose model has layers without weights yet"
        raise InputError(
            "model", got, "a built model: start with keras.Input, or call it once on a batch"
        )
    return model
