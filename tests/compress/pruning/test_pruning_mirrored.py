"""`Pruning` under `MirroredStrategy` on two logical CPU devices, which only a fresh process can have.

Not with `steps_per_execution` above 1: there Keras 3.15 itself fails, also without pruning.
"""

import json
import subprocess

import pytest

SCRIPT = """
import json, sys
import keras, numpy as np, tensorflow as tf
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.schedules import PolynomialDecay

[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
rng = np.random.default_rng(0)
x, y = rng.normal(size=(320, 8)).astype("float32"), rng.integers(0, 4, 320)


def run(strategy, settings, scaled):
    keras.utils.set_random_seed(1)
    with strategy.scope():
        inputs = keras.Input((8,))
        hidden = keras.layers.Dense(16, activation="tanh", name="hidden")(inputs)
        hidden = keras.layers.Dense(16, activation="tanh", name="frozen", trainable=False)(hidden)
        model = keras.Model(inputs, keras.layers.Dense(4, name="logits")(hidden))
        optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
        if scaled:
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=128.0)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer, loss, jit_compile=False)
    pruning = Pruning(PolynomialDecay(0.1, 0.8, 3, 23, frequency=5), **settings)
    model.fit(x, y, batch_size=32, epochs=3, shuffle=False, verbose=0, callbacks=[pruning])
    return model, pruning.masks()


undecayed = {"method": "undecayed", "decay": 0.02, "gradient_data": (x, y)}
settings, scaled = (({"scope": "global"}, True), (undecayed, False))[int(sys.argv[1])]
one, one_masks = run(tf.distribute.get_strategy(), settings, scaled)
two, two_masks = run(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]), settings, scaled)
copies = [[copy.numpy() for copy in weight.value.values] for weight in two.weights]
pairs = list(zip(one.get_weights(), two.get_weights(), strict=True))
print(json.dumps({
    "replicas": two.distribute_strategy.num_replicas_in_sync,
    "masks": all((mask == two_masks[name]).all() for name, mask in one_masks.items()),
    "difference": float(max(abs(a - b).max() for a, b in pairs)),
    "copies": all((a == b).all() for a, b in copies),
    "applied": all(((w.numpy() != 0) == two_masks[w.path]).all() for w in two.weights if w.path in two_masks),
    "pruned": [float(1 - mask.mean()) for mask in two_masks.values()],
}))
"""


@pytest.mark.nightly  # tests/population/test_mirrored.py prunes on two devices every day
@pytest.mark.parametrize("case", [0, 1], ids=["global, loss scaled", "undecayed"])
def test_two_replicas_prune_as_one_device(warm_python, case):
    done = subprocess.run(
        [*warm_python, "-c", SCRIPT, str(case)],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["replicas"] == 2
    assert result["masks"]
    assert result["applied"]
    assert result["copies"]
    assert result["difference"] < 1e-5
    assert sum(result["pruned"]) > 2
