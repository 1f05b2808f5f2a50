"""The audit at ImageNet's size, beside a loop of pandas and SciPy and beside fairlearn.

    pip install fairlearn
    python benchmarks/audit_scale.py [--store DIR] [--charts DIR] [--members 30] [--images 50000] [--classes 1000]

A study is simulated (see `simulated_study.py`): a dense population and 8 variants, their top-5 answers and
probabilities, written into a real store. Everything is measured on one core.

1. A fresh process opens the store, makes the full class and PIE audit, every file read and checked against its
   checksum, and keeps what it finds. Goal: below 5 s and below 1.5 GB. The same process then counts 1,000 permutations
   of one comparison, and another one audits all 8 with their permutations. Goal: 60 s.
2. Two peers do the work of one comparison on the same arrays, in full: a loop over classes with pandas and
   `scipy.stats.ttest_ind`, with `DataFrame.mode` for the PIEs, against the same results of tfaudit; and fairlearn's
   MetricFrame with scikit-learn's `accuracy_score` per class, one per member, against `Predictions.recall`. What they
   find must be equal, or no figure is printed. Goal: 50 times as fast.
3. Seconds of one comparison and of its permutations (3 members have 20 in all) while members, images or classes grow;
   the exponents are the slopes over the three largest sizes in log-log axes.
"""

import argparse
import json
import os
import resource
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

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audit.chance import chance
from tfaudit.audit.classes import class_impact
from tfaudit.audit.exemplars import exemplars
from tfaudit.predictions import Predictions
from tfaudit.store.store import open_store
from tfaudit.study.variants import Dense

PRUNED = VARIANTS[4]
PERMUTATIONS = 1000


def seconds(work: Callable[[], Any], at_most: int = 3) -> tuple[float, Any]:
    """The best of up to three times, and the result; what takes long is done once."""
    times = []
    while not times or (len(times) < at_most and sum(times) < 5):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def measured(directory: str, task: str) -> dict[str, float]:
    """Runs one task of `alone` in a fresh process on one core."""
    command = [sys.executable, __file__, "--store", directory, "--alone", task]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def alone(directory: Path, task: str) -> None:
    """Prints seconds and peak megabytes of a task as JSON."""
    shutil.rmtree(directory / "audit", ignore_errors=True)  # what an earlier audit has kept
    start, busy = time.perf_counter(), time.process_time()
    store = open_store(directory)
    audit = StudyAudit.read(store, permutations=PERMUTATIONS if task == "all" else 0).summary
    found = {"audit": time.perf_counter() - start, "cpu": time.process_time() - busy}
    found |= {"megabytes": peak(), "variants": len(audit.exemplars)}
    if task == "audit":
        both = store.predictions("dense"), store.predictions(PRUNED.key)
        found["chance"] = seconds(lambda: chance(*both, permutations=PERMUTATIONS), at_most=1)[0]
        found["chance_megabytes"] = peak()
    print(json.dumps(found))


def peak() -> float:
    """Megabytes of resident memory, so far at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ours(before: Predictions, after: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """p-values of the classes and positions of the PIEs: the whole audit of one comparison."""
    before, after = fresh(before), fresh(after)
    return class_impact(before, after).test.p, exemplars(before, after).index


def fresh(population: Predictions) -> Predictions:
    """The same answers, of which nothing has been worked out yet."""
    return Predictions(
        population.labels, population.ranked, population.probabilities, class_names=population.class_names
    )


def loop(before: Predictions, after: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """The same, as one would write it down with pandas and SciPy."""
    tables, modes = [], []
    for population in (before, after):
        answers = pd.DataFrame(population.top1.T)
        right = answers.eq(population.labels, axis=0)
        tables.append((population.labels, right, right.mean()))
        modes.append(answers.mode(axis=1)[0])
    p = []
    for c in range(before.num_classes):
        first, second = (right[labels == c].mean() - accuracy for labels, right, accuracy in tables)
        p.append(stats.ttest_ind(first, second, equal_var=False).pvalue)
    return np.array(p), np.flatnonzero(modes[0] != modes[1])


def fairlearn_recall(populations: list[Predictions]) -> np.ndarray:
    """Recall per member and class by MetricFrame."""
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
                y_pred=answers,
                sensitive_features=population.labels,
            ).by_group.to_numpy()
            for population in populations
            for answers in population.top1
        ]
    )


def compare(before: Predictions, after: Predictions) -> None:
    """Prints both ratios."""
    own, (p, pies) = seconds(lambda: ours(before, after))
    other, (their_p, their_pies) = seconds(lambda: loop(before, after), at_most=1)
    np.testing.assert_allclose(p, their_p, rtol=1e-6)
    np.testing.assert_array_equal(pies, their_pies)
    print(f"one comparison: {own:.3f} s, pandas and SciPy {other:.1f} s, ratio {other / own:.0f}, goal 50")
    own, recall = seconds(lambda: np.concatenate([fresh(each).recall() for each in (before, after)]))
    other, theirs = seconds(lambda: fairlearn_recall([before, after]), at_most=1)
    np.testing.assert_allclose(recall, theirs)
    print(f"recall per class and member: {own:.3f} s, fairlearn {other:.1f} s, ratio {other / own:.0f}, goal 50")


def scaling(members: int, images: int, classes: int) -> pd.DataFrame:
    """Seconds by `size` while one of `what` (members, images, classes) grows to twice the study's."""
    rows = []
    for what, full in (("members", members), ("images", images), ("classes", classes)):
        for size in (full // 8, full // 4, full // 2, full, 2 * full):
            sizes = {"members": members, "images": images, "classes": classes} | {what: max(size, 2)}
            world = World.make(sizes["images"], sizes["classes"])
            before, after = (world.population(variant, sizes["members"]) for variant in (Dense(), PRUNED))
            for work, took in (
                ("audit", seconds(lambda: ours(before, after))[0]),  # noqa: B023 - called at once
                ("1,000 permutations", seconds(lambda: chance(before, after, permutations=PERMUTATIONS))[0]),  # noqa: B023
            ):
                rows.append({"what": what, "size": sizes[what], "work": work, "seconds": took})
    return pd.DataFrame(rows)


def exponents(table: pd.DataFrame) -> pd.Series:
    """Slopes over the three largest sizes, in log-log axes."""
    return pd.Series(
        {
            key: np.polyfit(*np.log(rows[["size", "seconds"]].tail(3).T.to_numpy()), 1)[0]
            for key, rows in table.groupby(["what", "work"], sort=False)
        }
    )


def draw(table: pd.DataFrame, folder: Path) -> Path:
    """One panel per size that grows."""
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
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log", base=2, nice=False), axis=alt.Axis(format="~g")),
            color=alt.Color("work:N", title=None, scale=alt.Scale(range=["#4a7fc1", "#8e4585"])),
        )
    )
    chart = lines.facet(column=alt.Column("what:N", title=None, sort=None)).resolve_scale(x="independent")
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "audit_scale.png"
    place.write_bytes(vl_convert.vegalite_to_png(chart.to_dict(), scale=2))
    return place


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="folder of the study; made if it is not there")
    parser.add_argument("--charts", type=Path, help="measure the scaling, too, and draw it into this folder")
    parser.add_argument("--members", type=int, default=30)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--alone", choices=("audit", "all"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        alone(options.store, options.alone)
        return
    with tempfile.TemporaryDirectory() as temporary:
        place = options.store or Path(temporary)
        store = make_store(place, options.members, options.images, options.classes)
        first, second = measured(str(place), "audit"), measured(str(place), "all")
        shown = "{audit:.2f} s, {cpu:.2f} of them computing, {megabytes:.0f} MB; goals {} s and 1500 MB"
        print("audit of {variants} variants:".format(**first), shown.format(5, **first))
        print("with permutations of all:", shown.format(60, **second))
        print(f"{PERMUTATIONS:,} permutations of one: {first['chance']:.2f} s, {first['chance_megabytes']:.0f} MB")
        compare(store.predictions("dense"), store.predictions(PRUNED.key))
    if options.charts:
        table = scaling(options.members, options.images, options.classes)
        print(table.pivot(index=["what", "size"], columns="work", values="seconds").round(3).to_string())
        print("exponents:", exponents(table).round(2).to_dict())
        print(draw(table, options.charts))


if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # of the fresh processes
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # inherited by them
    main()
