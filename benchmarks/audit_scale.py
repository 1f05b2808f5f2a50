"""The audit at ImageNet's size, compared with a loop of pandas and SciPy and with fairlearn.

    pip install fairlearn
    python benchmarks/audit_scale.py [--store DIR] [--charts DIR] [--members 30] [--images 50000] [--classes 1000]
    python benchmarks/audit_scale.py --ours --variants 2 --images 1000000
    python benchmarks/audit_scale.py --ours --variants 2 --images 10000000 --members 5
    python benchmarks/audit_scale.py --every --variants 2 --images 1000000

The study is simulated (see `simulated_study.py`): top-5 predictions of a dense population and 8 variants, written into
a real store. Everything is measured on one core.

1. A new process opens the store, audits all classes and PIEs, with every file read and its checksum verified, and
   caches the results. Goal: below 5 s and below 1.5 GB; below 4 GB for the two large studies above. The same process
   then counts 1,000 permutations of one comparison, and another process audits all 8 variants with their permutations.
   Goal: 60 s.
2. Two alternatives do one comparison on the same arrays: a loop over classes with pandas and `scipy.stats.ttest_ind`,
   with `DataFrame.mode` for the PIEs; and fairlearn's MetricFrame with scikit-learn's `accuracy_score` per class and
   member, compared with `Predictions.recall`. If their results differ, no figure is printed. Goal: 50 times as fast.
   With `--ours` neither runs.
3. With `--every`, a new process for each audit of the report and each variant reads the two populations and computes
   this audit alone. Goal: below 4 GB. The first variant is compared with the baseline as an independent population, the
   second member by member; it is int8, so that classes tie.
4. Seconds of one comparison and of its permutations (3 members have 20 in all) while members, images or classes grow;
   the exponents are the slopes over the three largest sizes in log-log axes.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from simulated_study import VARIANTS, World, make_store

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.chance.chance import chance
from tfaudit.audits.classes.classes import class_impact
from tfaudit.population.machine import peak_memory
from tfaudit.predictions import Predictions
from tfaudit.store.store import open_store
from tfaudit.study.variants import Dense

PRUNED = VARIANTS[4]
FEW = VARIANTS[4], *VARIANTS[:4:-1]  # the first of a few variants
PERMUTATIONS = 1000


def seconds(work: Callable[[], Any], at_most: int = 3) -> tuple[float, Any]:
    """Return the best of up to three times, and the result; long work is done once."""
    times = []
    while not times or (len(times) < at_most and sum(times) < 5):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def measured(directory: str, task: str) -> dict[str, float]:
    """Run a task of `alone` in a new process on one core."""
    command = [sys.executable, __file__, "--store", directory, "--alone", task]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def alone(directory: Path, task: str) -> None:
    """Print seconds and peak megabytes of a task as JSON."""
    shutil.rmtree(directory / "audit", ignore_errors=True)  # results that an earlier audit cached
    start, busy = time.perf_counter(), time.process_time()
    store = open_store(directory)
    audit = StudyAudit.read(store, permutations=PERMUTATIONS if task == "all" else 0).summary
    figures = {"audit": time.perf_counter() - start, "cpu": time.process_time() - busy}
    figures |= {"megabytes": peak(), "variants": len(audit.exemplars)}
    if task == "audit":
        both = store.predictions("dense"), store.predictions(PRUNED.key)
        figures["chance"] = seconds(lambda: chance(*both, permutations=PERMUTATIONS), at_most=1)[0]
        figures["chance_megabytes"] = peak()
    print(json.dumps(figures))


def one_audit(directory: Path, task: str) -> None:
    """Print seconds and peak megabytes of one audit of one variant as JSON; nothing is cached."""
    name, key = task.split(":")
    start, busy = time.perf_counter(), time.process_time()
    data = StudyAudit.open(directory, permutations=0).data
    audit = AUDITS[name]
    options = audit.options(data, key)
    for arguments in audit.arguments(data, key):
        audit.compute(data, key, **options, **arguments)
    figures = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - busy}
    print(json.dumps(figures | {"megabytes": peak()}))


def each_audit(directory: Path, names: list[str]) -> pd.DataFrame:
    """Return seconds and peak megabytes of audits that the study allows, by audit and variant; of all by default."""
    data = StudyAudit.open(directory).data
    tasks = [
        (name, key)
        for name, audit in AUDITS.items()
        if name in (names or AUDITS) and audit.compute
        for key in data.titles
        if audit.applies(data, key) and audit.arguments(data, key)
    ]
    rows = {task: measured(str(directory), ":".join(task)) for task in tasks}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["audit", "variant"])


def peak() -> float:
    """Return the peak of resident memory in megabytes."""
    return peak_memory() / 2**20


def ours(before: Predictions, after: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """Return p-values of the classes and positions of the PIEs: the whole audit of one comparison.

    Modes that tie are settled by the class number, as `DataFrame.mode` lists them.
    """
    before, after = fresh(before), fresh(after)
    return class_impact(before, after).published.p, np.flatnonzero(before.modal() != after.modal())


def fresh(population: Predictions) -> Predictions:
    """Return the same predictions without cached results."""
    return Predictions(
        population.labels,
        population.ranked,
        population.probabilities,
        class_names=population.class_names,
    )


def loop(before: Predictions, after: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """Return the same as `ours`, written with pandas and SciPy."""
    tables, modes = [], []
    for population in (before, after):
        top1 = pd.DataFrame(population.top1.T)
        right = top1.eq(population.labels, axis=0)
        tables.append((population.labels, right, right.mean()))
        modes.append(top1.mode(axis=1)[0])
    p = []
    for c in range(before.num_classes):
        first, second = (right[labels == c].mean() - accuracy for labels, right, accuracy in tables)
        p.append(stats.ttest_ind(first, second, equal_var=False).pvalue)
    return np.array(p), np.flatnonzero(modes[0] != modes[1])


def fairlearn_recall(populations: list[Predictions]) -> np.ndarray:
    """Return recall per member and class by MetricFrame."""
    try:
        from fairlearn.metrics import MetricFrame
    except ImportError:
        raise SystemExit("the benchmark compares with fairlearn: pip install fairlearn") from None
    from sklearn.metrics import accuracy_score

    return np.stack(
        [
            MetricFrame(
                metrics=accuracy_score,
                y_true=population.labels,
                y_pred=top1,
                sensitive_features=population.labels,
            ).by_group.to_numpy()
            for population in populations
            for top1 in population.top1
        ]
    )


def compare(before: Predictions, after: Predictions) -> None:
    """Print both ratios."""
    own, (p, pies) = seconds(lambda: ours(before, after))
    other, (their_p, their_pies) = seconds(lambda: loop(before, after), at_most=1)
    np.testing.assert_allclose(p, their_p, rtol=1e-6)
    np.testing.assert_array_equal(pies, their_pies)
    print(
        f"one comparison: {own:.3f} s, pandas and SciPy {other:.1f} s, ratio {other / own:.0f}, goal 50"
    )
    own, recall = seconds(
        lambda: np.concatenate([fresh(population).recall() for population in (before, after)])
    )
    other, theirs = seconds(lambda: fairlearn_recall([before, after]), at_most=1)
    np.testing.assert_allclose(recall, theirs)
    print(
        f"recall per class and member: {own:.3f} s, fairlearn {other:.1f} s, ratio {other / own:.0f}, goal 50"
    )


def scaling(members: int, images: int, classes: int) -> pd.DataFrame:
    """Return seconds by `size` while one of `what` (members, images, classes) grows to twice the study's."""
    rows = []
    for what, full in (("members", members), ("images", images), ("classes", classes)):
        for size in (full // 8, full // 4, full // 2, full, 2 * full):
            sizes = {"members": members, "images": images, "classes": classes} | {
                what: max(size, 2)
            }
            world = World.make(sizes["images"], sizes["classes"])
            before, after = (
                world.population(variant, sizes["members"]) for variant in (Dense(), PRUNED)
            )
            for work, took in (
                ("audit", seconds(lambda: ours(before, after))[0]),  # noqa: B023 - called at once
                (
                    "1,000 permutations",
                    seconds(lambda: chance(before, after, permutations=PERMUTATIONS))[0],  # noqa: B023
                ),
            ):
                rows.append({"what": what, "size": sizes[what], "work": work, "seconds": took})
    return pd.DataFrame(rows)


def exponents(table: pd.DataFrame) -> pd.Series:
    """Return the slopes over the three largest sizes in log-log axes."""
    return pd.Series(
        {
            key: np.polyfit(*np.log(rows[["size", "seconds"]].tail(3).T.to_numpy()), 1)[0]
            for key, rows in table.groupby(["what", "work"], sort=False)
        }
    )


def draw(table: pd.DataFrame, folder: Path) -> Path:
    """Draw one panel per size that grows and return the path of the chart."""
    import altair as alt
    import vl_convert

    lines = (
        alt.Chart(table, width=220, height=200)
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "size:Q",
                scale=alt.Scale(type="log", base=2, nice=False, padding=12),
                title=None,
                axis=alt.Axis(format="~s", tickCount=4, grid=False),
            ),
            y=alt.Y(
                "seconds:Q",
                scale=alt.Scale(type="log", base=2, nice=False),
                axis=alt.Axis(format="~g"),
            ),
            color=alt.Color("work:N", title=None, scale=alt.Scale(range=["#4a7fc1", "#8e4585"])),
        )
    )
    chart = lines.facet(column=alt.Column("what:N", title=None, sort=None)).resolve_scale(
        x="independent"
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "audit_scale.png"
    path.write_bytes(vl_convert.vegalite_to_png(chart.to_dict(), scale=2))
    return path


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", type=Path, help="folder of the study; created if missing")
    parser.add_argument(
        "--charts", type=Path, help="also measure the scaling and draw it into this folder"
    )
    parser.add_argument("--members", type=int, default=30)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument(
        "--variants",
        type=int,
        default=len(VARIANTS),
        help="8, or up to 4: pruned by 90 %%, int8, dynamic range, float16",
    )
    parser.add_argument("--ours", action="store_true", help="do not measure the alternatives")
    parser.add_argument(
        "--every",
        nargs="*",
        choices=AUDITS,
        help="measure each audit alone, or some, and nothing else",
    )
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        (one_audit if ":" in options.alone else alone)(options.store, options.alone)
        return
    with tempfile.TemporaryDirectory() as temporary:
        directory = options.store or Path(temporary)
        variants = VARIANTS if options.variants > 4 else FEW[: options.variants]
        sizes = options.members, options.images, options.classes
        store = make_store(directory, *sizes, variants)
        if options.every is not None:
            print(each_audit(directory, options.every).round(1).to_string())
            return
        first, second = measured(str(directory), "audit"), measured(str(directory), "all")
        shown = (
            "{audit:.2f} s, {cpu:.2f} of them CPU time, {megabytes:.0f} MB; goals {} s and 1500 MB"
        )
        print("audit of {variants} variants:".format(**first), shown.format(5, **first))
        print("with permutations of all:", shown.format(60, **second))
        print(
            f"{PERMUTATIONS:,} permutations of one: {first['chance']:.2f} s, {first['chance_megabytes']:.0f} MB"
        )
        if not options.ours:
            compare(store.predictions("dense"), store.predictions(PRUNED.key))
    if options.charts:
        table = scaling(options.members, options.images, options.classes)
        print(
            table.pivot(index=["what", "size"], columns="work", values="seconds")
            .round(3)
            .to_string()
        )
        print("exponents:", exponents(table).round(2).to_dict())
        print(draw(table, options.charts))


if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # of the fresh processes
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # inherited by them
    main()
