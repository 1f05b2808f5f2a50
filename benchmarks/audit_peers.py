"""What changed between two models, by tfaudit, fairlearn, deepchecks and TFMA, on the same predictions.

    python benchmarks/audit_peers.py [--images 10000] [--classes 10] [--tools tfaudit fairlearn ...]
        [--python deepchecks=/envs/deepchecks/bin/python tfma=/envs/tfma/bin/python]

The predictions are simulated (see `simulated_study.py`): a dense model and the same model in int8. Every tool runs in
a process of its own on one core, by the Python of its environment: fairlearn needs `fairlearn`, deepchecks
`deepchecks "scikit-learn<1.6" "setuptools<81"`, TFMA `tensorflow-model-analysis`. Each computes the recall of every
class for both models and, where it can, the change between them with a 95 % interval:

- tfaudit: `compare`, from flips, with an exact test per class and corrections over classes.
- fairlearn: a `MetricFrame` of the change, a metric written here, with `n_boot=100` resamples.
- deepchecks: `SingleDatasetPerformance` with the recall of every class, once a model.
- TFMA: `analyze_raw_data` with both models, a slice for every class, and intervals from 20 jackknife samples.

Seconds are processor time of the computation, without imports; memory is the peak of the process. The changes have
to be those counted here. An interval of width 0 says that a class without flips cannot change.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

Figures = tuple[np.ndarray, np.ndarray]
"""Changes of recall `(C,)`, and ends of their intervals `(C, 2)`, NaN if the tool gives none; points."""

RESAMPLES = 100


def with_tfaudit(
    labels: np.ndarray, before: np.ndarray, after: np.ndarray
) -> Callable[[], Figures]:
    """Return the comparison by tfaudit."""
    import tfaudit

    def compute() -> Figures:
        models = [tfaudit.Predictions.from_top1(labels, top1) for top1 in (before, after)]
        frame = (
            tfaudit.compare(*models).frame("none").sort_values("class", key=lambda c: c.astype(int))
        )
        return frame["change_pp"].to_numpy(), frame[["change_low_pp", "change_high_pp"]].to_numpy()

    return compute


def with_fairlearn(
    labels: np.ndarray, before: np.ndarray, after: np.ndarray
) -> Callable[[], Figures]:
    """Return the comparison by fairlearn: rows are resampled whole, so the interval is that of pairs."""
    from fairlearn.metrics import MetricFrame

    def change(before_right: np.ndarray, after_right: np.ndarray) -> float:
        return float(np.mean(after_right) - np.mean(before_right))

    def compute() -> Figures:
        frame = MetricFrame(
            metrics=change,
            y_true=(before == labels).astype(float),
            y_pred=(after == labels).astype(float),
            sensitive_features=labels,
            n_boot=RESAMPLES,
            ci_quantiles=[0.025, 0.975],
            random_state=0,
        )
        ends = np.stack([each.to_numpy(float) for each in frame.by_group_ci], 1)
        return 100 * frame.by_group.to_numpy(float), 100 * ends

    return compute


def with_deepchecks(
    labels: np.ndarray, before: np.ndarray, after: np.ndarray
) -> Callable[[], Figures]:
    """Return the comparison by deepchecks, which has no intervals and no check of two models' predictions."""
    import pandas as pd
    from deepchecks.tabular import Dataset
    from deepchecks.tabular.checks import SingleDatasetPerformance

    classes = list(range(labels.max() + 1))

    def recall(top1: np.ndarray) -> np.ndarray:
        table = pd.DataFrame({"image": np.arange(len(labels))})
        data = Dataset(table, label=pd.Series(labels), label_type="multiclass", cat_features=[])
        check = SingleDatasetPerformance(scorers=["recall_per_class"])
        result = check.run(data, y_pred=top1, model_classes=classes, with_display=False)
        values = result.value.set_index("Class")["Value"]
        return values.reindex(classes).to_numpy(float)

    def compute() -> Figures:
        changes = 100 * (recall(after) - recall(before))
        return changes, np.full((len(changes), 2), np.nan)

    return compute


def with_tfma(labels: np.ndarray, before: np.ndarray, after: np.ndarray) -> Callable[[], Figures]:
    """Return the comparison by TensorFlow Model Analysis: right predictions are the labels of a binary accuracy."""
    import pandas as pd
    import tensorflow_model_analysis as tfma
    from google.protobuf import text_format
    from tensorflow_model_analysis.proto.config_pb2 import EvalConfig

    config = text_format.Parse(
        """
        model_specs { name: "compressed" label_key: "one" prediction_key: "after" }
        model_specs { name: "dense" label_key: "one" prediction_key: "before" is_baseline: true }
        metrics_specs { metrics { class_name: "BinaryAccuracy" } }
        slicing_specs { feature_keys: "label" }
        options { compute_confidence_intervals { value: true } confidence_intervals { method: JACKKNIFE } }
        """,
        EvalConfig(),
    )

    def compute() -> Figures:
        right = [(top1 == labels).astype(float) for top1 in (before, after)]
        table = pd.DataFrame({"label": labels, "one": 1.0, "before": right[0], "after": right[1]})
        slices = dict(tfma.analyze_raw_data(table, config).slicing_metrics)
        found = [
            slices[(("label", c),)][""][""]["binary_accuracy_diff"]["boundedValue"]
            for c in range(labels.max() + 1)
        ]
        rows = [
            [one.get(key, 0.0) for key in ("value", "lowerBound", "upperBound")] for one in found
        ]
        values = 100 * np.array(rows, float)
        return values[:, 0], values[:, 1:]

    return compute


TOOLS = {
    "tfaudit": with_tfaudit,
    "fairlearn": with_fairlearn,
    "deepchecks": with_deepchecks,
    "tfma": with_tfma,
}


def alone(tool: str, path: Path) -> None:
    """Run one tool in this process; print seconds, megabytes, changes and intervals as JSON."""
    with np.load(path) as data:
        compute = TOOLS[tool](data["labels"], data["before"], data["after"])
    start = time.process_time()
    changes, ends = compute()
    seconds = time.process_time() - start
    held = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
    print(json.dumps([seconds, int(held) / 1024, changes.tolist(), ends.tolist()]))


def main() -> None:
    """Run every tool and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--python", nargs="+", default=[], help="tool=PATH of the Python of a tool")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        alone(options.alone[0], Path(options.alone[1]))
        return
    from simulated_study import VARIANTS, World

    from tfaudit.study.variants import Dense

    world = World.make(options.images, options.classes)
    labels = world.labels.astype(np.int64)
    before, after = (
        world.predict(variant, 0).classes[:, 0].astype(np.int64)
        for variant in (Dense(), VARIANTS[-1])
    )
    lost, count = (
        np.bincount(labels, change)
        for change in ((after == labels) - 1.0 * (before == labels), None)
    )
    changes = 100 * lost / count
    interpreters = dict(choice.split("=", 1) for choice in options.python)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "predictions.npz")
        np.savez(path, labels=labels, before=before, after=after)
        for tool in options.tools:
            command = [interpreters.get(tool, sys.executable), __file__, "--alone", tool, str(path)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(f"{tool}: {done.stderr.strip().splitlines()[-1]}")
                continue
            seconds, megabytes, found, ends = json.loads(done.stdout.strip().splitlines()[-1])
            np.testing.assert_allclose(found, changes, atol=1e-3)
            widths = np.diff(ends, axis=1)[:, 0]
            print(
                f"{tool:10} {seconds:8.2f} s  {megabytes:6.0f} MB  intervals of {np.isfinite(widths).sum()} classes, "
                f"{(widths < 1e-9).sum()} of width 0",
                flush=True,
            )


if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    main()
