"""What an engine costs: the driver's time per member, Ray against the local engine, and a week on 64 nodes on paper.

    python benchmarks/engine_overhead.py overhead [MEMBERS]        members that do nothing, 10,000 by default
    python benchmarks/engine_overhead.py rate [MEMBERS] [ROUNDS]   members of the digits recipe per minute
    python benchmarks/engine_overhead.py week                      imagenet_resnet50 on 64 nodes that fail; no training

`overhead` counts the driver's wall and processor time per member, and its memory after a tenth of the members and after
all: goals 20 ms and no growth. `rate` runs the same study on the same cores with both engines, in turn, each time from
new processes, Ray's start excepted: goal .9. `week` needs neither Ray nor TensorFlow.
"""

import dataclasses
import itertools
import math
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

GPU_HOURS = (
    16_000 / 180
)  # of one training of imagenet_resnet50 on a GPU at 10 TFLOP/s: see the recipe
PRICE = 2.5  # dollars for an hour of a GPU: an assumption, to be replaced by yours

NOTHING = """
import sys
for line in sys.stdin:
    print('{"error": null}', flush=True)
"""


def memory() -> float:
    """Return this process's memory now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def overhead(members: int = 10_000) -> None:
    """Print the driver's cost of members that do nothing."""
    from tfaudit import Study, Training, load_dataset
    from tfaudit.extensions.ray.ray_engine import ray_engine
    from tfaudit.population import worker_process
    from tfaudit.population.engine_options import EngineOptions
    from tfaudit.population.local import local_engine
    from tfaudit.population.plan import MemberJob
    from tfaudit.store.store import Store

    study = Study(name="s", dataset="digits", model="digits_convnet", training=Training(epochs=1))
    worker_process.COMMAND = (sys.executable, "-c", NOTHING)
    splits = load_dataset("digits", "train"), load_dataset("digits", "test")
    options = EngineOptions(workers=2, jobs_per_worker=members)
    for name in ("local", "ray"):
        with tempfile.TemporaryDirectory() as folder:
            directory = Store.create(Path(folder) / "s", study, {}).directory
            engine = (
                local_engine(directory, options)
                if name == "local"
                else ray_engine(directory, options, splits, {})
            )
            with engine as run:
                for _ in run([MemberJob("dense", member) for member in range(4)]):
                    pass  # the workers start
                wall, own, done, early = time.perf_counter(), time.process_time(), 0, 0.0
                for event in run([MemberJob("dense", member) for member in range(members)]):
                    done += event.kind == "done"
                    if done == members // 10 and not early:
                        early = memory()
                wall, own = time.perf_counter() - wall, time.process_time() - own
            if done != members:
                raise SystemExit(f"{members - done} members were lost: no figure")
        wall, own = 1000 * wall / members, 1000 * own / members
        print(f"{name}: {wall:.2f} ms per member, {own:.2f} ms of the driver's processor (goal 20)")
        print(
            f"{name}: {early:.0f} MB after {members // 10} members, {memory():.0f} MB after {members}"
        )


def rate(members: int = 8, rounds: int = 2) -> None:
    """Print members per minute of both engines on the same cores."""
    import ray

    from tfaudit import run
    from tfaudit.recipes.digits import study as digits

    cores = len(os.sched_getaffinity(0))
    ray.init(
        "local", num_cpus=cores, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
    )
    study = dataclasses.replace(digits, variants=(), corruptions=(), population=members)
    seconds: dict[str, list[float]] = {"local": [], "ray": []}
    for _ in range(rounds):
        for engine, times in seconds.items():
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                store = run(study, folder, engine=engine, workers=cores)
                times.append(time.perf_counter() - start)
                if store.failures():
                    raise SystemExit("members failed: no figure")
    for engine, times in seconds.items():
        print(
            f"{engine}: {60 * members / statistics.median(times):.1f} members per minute on {cores} cores"
        )
    ratios = [local / other for local, other in zip(seconds["local"], seconds["ray"], strict=True)]
    print(
        f"ray over local: {statistics.median(ratios):.2f} (rounds: {', '.join(f'{r:.2f}' for r in ratios)}), goal .9"
    )


@dataclasses.dataclass
class Week:
    """A simulated run of all trainings of a study."""

    hours: float  # until the last member was made
    bought: float  # GPU hours of all nodes
    lost: float  # GPU hours since the last checkpoints of attempts that a failure ended
    failures: int  # number of node failures
    given_up: int  # members whose attempts were used up


def simulate(
    trainings: int,
    hours: float,
    nodes: int,
    mean_hours: float,
    *,
    retries: int,
    checkpoint: float = 1 / 6,
    repair: float = 0.25,
    seed: int = 0,
) -> Week:
    """Simulate trainings on nodes of one GPU that fail at random and come back after a repair.

    Args:
        trainings: number of members.
        hours: of one training; a member whose node fails goes on from its last checkpoint.
        nodes: number of nodes.
        mean_hours: mean time between two failures of a node; exponential.
        retries: further attempts of a member.
        checkpoint: hours between two checkpoints; infinity for none.
        repair: hours until a lost node is replaced.
        seed: of the failures.
    """
    chance = random.Random(seed)
    free = [0.0] * nodes
    waiting, attempts = list(range(trainings)), [0] * trainings
    left = [hours] * trainings
    week = Week(0.0, 0.0, 0.0, 0, 0)
    while waiting:
        node = min(range(nodes), key=free.__getitem__)
        member = waiting.pop(0)
        attempts[member] += 1
        survives = chance.expovariate(1 / mean_hours)
        if survives >= left[member]:
            free[node] += left[member]
            week.hours = max(week.hours, free[node])
            continue
        kept = survives // checkpoint * checkpoint if checkpoint < math.inf else 0.0
        left[member] -= kept
        week.failures, week.lost = week.failures + 1, week.lost + survives - kept
        free[node] += survives + repair
        if attempts[member] <= retries:
            waiting.insert(0, member)
        else:
            week.given_up += 1
    week.bought = sum(free) - week.failures * repair
    return week


def week() -> None:
    """Print what node failures cost `imagenet_resnet50` with K = 30, dense and four levels."""
    trainings, retries = 30 * 5, (2, 6)
    print(
        f"{trainings} trainings of {GPU_HOURS:.0f} GPU hours on 64 nodes of one GPU, ${PRICE:.2f} an hour, 6 retries"
    )
    print(
        "a node fails every             days  GPU hours    lost  dollars  for lost work  given up  (with 2 retries)"
    )
    failures = (
        ("never", 1e12),
        ("3 months", 2190.0),
        ("month", 730.0),
        ("week", 168.0),
        ("3 days", 72.0),
    )
    for checkpoint, (label, mean) in itertools.product((1 / 6, math.inf), failures):
        few, many = (
            [
                simulate(
                    trainings, GPU_HOURS, 64, mean, retries=number, checkpoint=checkpoint, seed=seed
                )
                for seed in range(200)
            ]
            for number in retries
        )
        days, bought, lost, _, given_up = (
            statistics.mean(getattr(run, field.name) for run in many)
            for field in dataclasses.fields(Week)
        )
        short = statistics.mean(run.given_up for run in few)
        label += "" if checkpoint < 1 else ", no checkpoints"
        print(f"{label:27s} {days / 24:7.1f} {bought:10,.0f} {lost / bought:7.1%}", end="")
        print(f" {bought * PRICE:8,.0f} {lost * PRICE:14,.0f} {given_up:9.1f} {short:16.1f}")


if __name__ == "__main__":
    {"overhead": overhead, "rate": rate, "week": week}[sys.argv[1]](*map(int, sys.argv[2:]))
