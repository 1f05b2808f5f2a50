"""Members per minute: the local engine with two workers compared with a sequential loop of `fit`.

    python benchmarks/members_per_minute.py [MEMBERS] [ROUNDS]

The loop is what one would write with Keras alone: it builds, compiles, fits and predicts one model after another in one
process with all cores, and stores nothing. Both train the dense members of the `digits` recipe on the same data with
the same number of steps. Rounds alternate, each in new processes, so importing TensorFlow counts for both. The engine
also saves every model, its history and its predictions.
"""

import dataclasses
import statistics
import subprocess
import sys
import tempfile
import time

from tfaudit import Study, run
from tfaudit.recipes.digits import study as digits

LOOP = """
import sys
import keras
from tfaudit import load_dataset
from tfaudit.models.registry import build_model

train, test = (load_dataset("digits", split) for split in ("train", "test"))
mean, std = train.moments()
images, tests = (data.images.astype("float32") for data in (train, test))
for seed in range(int(sys.argv[1])):
    keras.utils.set_random_seed(seed)
    model = build_model("digits_convnet", train.image_shape, 10, mean=mean, std=std)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    rate = keras.optimizers.schedules.CosineDecay(0.05, 20 * 38)
    optimizer = keras.optimizers.SGD(rate, momentum=0.9, nesterov=True)
    model.compile(optimizer, loss, metrics=["accuracy"], jit_compile=False)
    model.fit(images, train.labels, epochs=20, batch_size=32, verbose=0)
    model.predict(tests, verbose=0)
"""


def engine(members: int) -> float:
    """Return the seconds of the engine with two workers."""
    study: Study = dataclasses.replace(digits, variants=(), population=members)
    with tempfile.TemporaryDirectory() as directory:
        start = time.perf_counter()
        store = run(study, directory, workers=2)
        seconds = time.perf_counter() - start
        if store.failures():
            raise SystemExit("members failed: no figure")
    return seconds


def loop(members: int) -> float:
    """Return the seconds of the plain loop."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", LOOP, str(members)], check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main(members: int = 16, rounds: int = 3) -> None:
    """Print the ratio."""
    times = [(engine(members), loop(members)) for _ in range(rounds)]
    ours, peers = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"engine, 2 workers: {60 * members / ours:.1f} members per minute (median of {rounds} rounds)")
    print(f"plain loop of fit: {60 * members / peers:.1f} members per minute")
    ratios = sorted(peer / own for own, peer in times)
    print(f"ratio: {statistics.median(ratios):.2f} (rounds: {', '.join(f'{ratio:.2f}' for ratio in ratios)}), goal 2.0")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
