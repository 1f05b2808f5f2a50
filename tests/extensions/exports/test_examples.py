"""The examples of docs/outlets.md log a verdict, a table and a report where each tool keeps them."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.predictions import Predictions

PAGE = (Path(__file__).parents[3] / "docs/outlets.md").read_text()
LOST = -100 * 60 / 600  # points of accuracy: two thirds of the first 90 images


def example(title):
    """Return the code of a section, after the code that all share."""
    texts = (PAGE, PAGE.split(f"## {title}")[1])
    return "".join(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1] for text in texts)


def run(python, title, folder, **environment):
    """Run a section's example in a folder."""
    command = [*python, "-c", example(title)]
    done = subprocess.run(
        command,
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr


def table():
    """The table of classes that the examples log."""
    labels = np.arange(600) % 3
    before = Predictions.from_top1(labels, labels)
    return compare(
        before, Predictions.from_top1(labels, np.where(np.arange(600) < 90, 0, labels))
    ).frame()


@pytest.mark.slow
def test_mlflow_keeps_verdict_metrics_table_and_report(warm_python, tmp_path):
    pytest.importorskip("mlflow")
    run(
        warm_python,
        "MLflow",
        tmp_path,
        MLFLOW_TRACKING_URI="file:mlruns",
        MLFLOW_ALLOW_FILE_STORE="true",
    )
    (metric,) = tmp_path.glob("mlruns/0/*/metrics/overall_drop_pp")
    folder = metric.parents[1]
    assert float(metric.read_text().split()[1]) == pytest.approx(-LOST)
    assert (folder / "tags/tfaudit.verdict").read_text() == "fail"
    logged = json.loads((folder / "artifacts/tfaudit/classes.json").read_text())
    assert logged["columns"] == list(table())
    assert len(logged["data"]) == 3
    report = (tmp_path / "study/report.html").read_text()
    assert (folder / "artifacts/tfaudit/report.html").read_text() == report


@pytest.mark.slow
def test_weights_and_biases_keeps_them_offline(warm_python, tmp_path):
    pytest.importorskip("wandb")
    run(warm_python, "Weights & Biases", tmp_path, WANDB_SILENT="true")
    (folder,) = tmp_path.glob("wandb/offline-run-*/files")
    (logged,) = folder.glob("media/table/tfaudit/classes_*.table.json")
    assert json.loads(logged.read_text())["columns"] == list(table())
    (report,) = folder.glob("media/html/tfaudit/report_*.html")
    assert "<title>study" in report.read_text()
    (record,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    assert b"tfaudit/verdict" in record.read_bytes()


@pytest.mark.slow
def test_tensorboard_shows_verdict_and_figures(warm_python, tmp_path):
    tensorflow = pytest.importorskip("tensorflow")
    run(warm_python, "TensorBoard", tmp_path)
    (file,) = tmp_path.glob("logs/events.*")
    events = [
        value
        for event in tensorflow.compat.v1.train.summary_iterator(str(file))
        for value in event.summary.value
    ]
    values = {value.tag: tensorflow.make_ndarray(value.tensor) for value in events}
    assert values["tfaudit/overall_drop_pp"] == pytest.approx(-LOST)
    assert "❌ FAIL" in values["tfaudit/verdict"].item().decode()
