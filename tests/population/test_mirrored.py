"""Several devices inside a member: on two logical CPU devices, in micro-batches, the same training as on one."""

import subprocess

import pytest

from tests.builders.refusals import assert_refused
from tfaudit import Training

SCRIPT = """
import dataclasses
import numpy as np
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from tfaudit import InputError, Pruned, Study, Training, load_dataset
from tfaudit.population.member import gradual_trainer
from tfaudit.population.training import Trainer

data = load_dataset("digits", "train").take(160)
pruned = Pruned(0.7, end=0.7)
one = Training(epochs=1, batch_size=32, weight_decay=1e-3, validation=0.2, learning_rate=0.05)
study = Study(name="s", dataset="digits", model="digits_convnet", training=one, variants=(pruned,),
              model_options={"filters": [4], "units": 8})
results = []
for training in (one, dataclasses.replace(one, strategy="mirrored", micro_batch=8)):
    study = dataclasses.replace(study, training=training)
    trainer = gradual_trainer(study, pruned, data)
    for seed in (1, 2):  # the second member finds the state of the first
        model = trainer.build(seed)
        history = trainer.train(model, seed)
        results.append(([w.numpy() for w in model.weights], history))
    print(trainer.model.distribute_strategy.num_replicas_in_sync)
for (single, before), (double, after) in zip(results[:2], results[2:], strict=True):
    for a, b in zip(single, double, strict=True):
        assert_array_equal(a == 0, b == 0)
        assert_allclose(a, b, atol=2e-5)
    assert_allclose(before["loss"], after["loss"], rtol=1e-4)
zeros = np.mean(np.concatenate([w.ravel() for w in results[1][0] if w.ndim > 1]) == 0)
assert .65 < zeros < .75, zeros
try:
    Trainer(study, dataclasses.replace(training, batch_size=33, micro_batch=None), data)
except InputError as problem:
    print(problem)
"""


@pytest.mark.slow
def test_two_devices_train_pruned_members_as_one_does(warm_python):
    done = subprocess.run([*warm_python, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split("\n")[:3] == [
        "1",
        "2",
        "batch_size: got 33, expected a multiple of 2, the devices that share a batch",
    ]


def test_settings_that_no_strategy_takes():
    assert_refused(
        "steps_per_execution: got 4, expected 1 with strategy='mirrored'",
        Training,
        epochs=1,
        strategy="mirrored",
        steps_per_execution=4,
    )
