"""Members per minute: the local engine with two workers compared with a sequential loop of `fit`, and with one worker.

    python benchmarks/members_per_minute.py [MEMBERS] [ROUNDS]
    python benchmarks/members_per_minute.py workers [MEMBERS] [ROUNDS]

The loop is what one would write with Keras alone: it builds, compiles, fits and predicts one model after another in one
process with all cores, and stores nothing. Both train the dense members of the `digits` recipe on the same data with
the same number of steps. Rounds alternate, each in new processes, so importing TensorFlow counts for both. The engine
also saves every model, its history and its predictions.

`workers` trains dense members of `cifar10_forgets` for two epochs with one worker and with two, one thread each; it
needs CIFAR-10 (`tfaudit prepare cifar10`). Its goal of 1.9 is for the rate once every worker has finished its first
member, as in a run of hours; the whole run, with the start of TensorFlow and the reading of the data, is printed beside
it. One worker is timed twice: alone on the machine, where a second core prepares its batches, and on a single core,
which is what each of two workers has.
"""

import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tfaudit import Study, run
from tfaudit.recipes.cifar10_forgets import study as forgets
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


def engine(study: Study, members: int, workers: int = 2) -> tuple[float, float]:
    """Return the seconds that the engine takes for the study's dense members, and for one once its workers are busy."""
    study = dataclasses.replace(study, variants=(), population=members)
    with tempfile.TemporaryDirectory() as directory:
        start = time.perf_counter()
        store = run(study, directory, workers=workers)
        seconds = time.perf_counter() - start
        if store.failures():
            raise SystemExit("members failed: no figure")
        ends = sorted(
            record.stat().st_mtime for record in Path(directory).glob("members/*/*/member.json")
        )
    return seconds, (ends[-1] - ends[workers - 1]) / (members - workers)


def loop(members: int) -> float:
    """Return the seconds of the plain loop."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", LOOP, str(members)], check=True, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def main(members: int = 16, rounds: int = 3) -> None:
    """Print the ratio to the loop."""
    times = [(engine(digits, members)[0], loop(members)) for _ in range(rounds)]
    ours, peers = (statistics.median(column) for column in zip(*times, strict=True))
    print(
        f"engine, 2 workers: {60 * members / ours:.1f} members per minute (median of {rounds} rounds)"
    )
    print(f"plain loop of fit: {60 * members / peers:.1f} members per minute")
    ratios = sorted(peer / own for own, peer in times)
    print(
        f"ratio: {statistics.median(ratios):.2f} (rounds: {', '.join(f'{ratio:.2f}' for ratio in ratios)}), goal 2.0"
    )


def compare_workers(members: int = 6, rounds: int = 2) -> None:
    """Print the ratio of the rate of two workers to that of one."""
    training = dataclasses.replace(forgets.training, epochs=2)
    study = dataclasses.replace(
        forgets, dataset="cifar10", training=training, corruptions=(), corrupted_variants=()
    )
    runs = {"two workers": (2, None), "one worker": (1, None), "one worker on one core": (1, 1)}
    every_core = sorted(os.sched_getaffinity(0))
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, (workers, cores) in runs.items():
            os.sched_setaffinity(0, every_core[:cores])  # worker processes inherit it
            times[name].append(engine(study, members, workers))
            whole, member = times[name][-1]
            print(f"{name}: {members} members {whole:.0f} s, one more {member:.1f} s", flush=True)
    for name in ("one worker", "one worker on one core"):
        pairs = list(zip(times[name], times["two workers"], strict=True))
        start, busy = (statistics.median(one[i] / two[i] for one, two in pairs) for i in (0, 1))
        print(f"{name} / two workers: {busy:.2f}, {start:.2f} with the start; goal 1.9")


if __name__ == "__main__":
    if sys.argv[1:2] == ["workers"]:
        compare_workers(*map(int, sys.argv[2:]))
    else:
        main(*map(int, sys.argv[1:]))
