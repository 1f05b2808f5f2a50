"""The gate as an evaluator of MLflow; needs mlflow, or mlflow-skinny with matplotlib and scikit-learn."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from tests.builders.refusals import assert_refused

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    mlflow = pytest.importorskip("mlflow")
    evaluation = pytest.importorskip("mlflow.models.evaluation")
    registry = pytest.importorskip("mlflow.models.evaluation.evaluator_registry")
    from tfaudit.extensions.exports.mlflow_evaluator import MlflowEvaluator

CLASSES = np.array(["cat", "dog", "owl", "elk"])
LABELS = np.tile(CLASSES, 500)
HARMED = np.where((LABELS == "owl") & (np.arange(2000) % 8 == 2), "cat", LABELS)
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that evaluates predictions against a baseline in a run of its own."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    known = registry._model_evaluation_registry
    monkeypatch.setitem(known._registry, "tfaudit", MlflowEvaluator)  # as the entry point does

    def evaluate(labels, after, **config):
        data = pd.DataFrame({"label": labels, "predicted": list(after)})
        with mlflow.start_run():
            return mlflow.models.evaluate(
                data=data,
                targets="label",
                predictions="predicted",
                model_type="classifier",
                evaluators="tfaudit",
                evaluator_config=config,
            )

    return evaluate


def test_metrics_and_artifacts_are_those_of_the_gate(run):
    result = run(LABELS, HARMED, baseline=LABELS, limits={"worst_class_drop_pp": 5})
    assert result.metrics == {"tfaudit/passed": 0.0, "tfaudit/worst_class_drop_pp": 50.0}
    client = mlflow.MlflowClient()
    stored = client.get_run(result.run_id).data
    assert stored.metrics == result.metrics
    assert stored.tags["tfaudit.verdict"] == "fail"
    assert "recall of owl falls" in " ".join(
        mlflow.artifacts.load_text(f"runs:/{result.run_id}/tfaudit/gate.md").split()
    )
    table = json.loads(mlflow.artifacts.load_text(f"runs:/{result.run_id}/tfaudit/classes.json"))
    assert {row[0] for row in table["data"]} == set(CLASSES)
    threshold = mlflow.models.MetricThreshold(threshold=5, greater_is_better=False)
    with pytest.raises(evaluation.validation.ModelValidationFailedException):
        mlflow.validate_evaluation_results(
            validation_thresholds={"tfaudit/worst_class_drop_pp": threshold},
            candidate_result=result,
        )
    mlflow.validate_evaluation_results(
        validation_thresholds={"tfaudit/worst_class_drop_pp": threshold},
        candidate_result=run(LABELS, LABELS, baseline=LABELS, limits={"worst_class_drop_pp": 5}),
    )


def test_a_baseline_may_be_the_address_of_a_model(run, tmp_path):
    class Same(mlflow.pyfunc.PythonModel):
        def predict(self, context, model_input):
            return LABELS

    mlflow.pyfunc.save_model(tmp_path / "model", python_model=Same())
    result = run(LABELS, HARMED, baseline=str(tmp_path / "model"), limits={"flips": 0.5})
    assert result.metrics["tfaudit/flips"] == pytest.approx(np.mean(LABELS != HARMED))


def test_it_judges_only_classifiers_with_a_baseline():
    for kind, config, able in (
        ("classifier", {"baseline": LABELS}, True),
        ("classifier", {}, False),
        ("regressor", {"baseline": LABELS}, False),
    ):
        assert MlflowEvaluator.can_evaluate(model_type=kind, evaluator_config=config) is able


def test_classes_are_not_compared_with_scores(run):
    scores = np.eye(4)[np.tile(np.arange(4), 500)]
    assert_refused(
        "baseline: got classes", run, np.tile(np.arange(4), 500), scores[:, 0], baseline=scores
    )
