"""An evaluator for MLflow: `mlflow.models.evaluate(..., evaluators="tfaudit")` runs the gate against a baseline."""

from __future__ import annotations

from typing import Any

import mlflow
import numpy as np
from mlflow.models.evaluation import EvaluationResult, ModelEvaluator

from tfaudit.audits.gate.checks import PASS
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.errors import InputError
from tfaudit.outlets.markdown import gate_markdown
from tfaudit.predictions import Predictions

PLACE = "tfaudit"  # prefix of the metrics, and folder of the artifacts


class MlflowEvaluator(ModelEvaluator):
    """The gate as an evaluator of classifiers.

    `evaluator_config` needs `baseline`: the URI of a model, or predictions of the same rows, as `predict` returns them:
    classes `(N,)` or scores `(N, C)`. It may hold `limits`, by the names of `tfaudit.Limits`, and `alpha`. The metrics
    are `tfaudit/passed`, 1 or 0, and the value of each check; the table of classes and the verdict are artifacts.
    """

    @classmethod
    def can_evaluate(
        cls, *, model_type: str, evaluator_config: dict[str, Any] | None, **_: Any
    ) -> bool:
        """Return whether a model is a classifier that has a baseline to be compared with."""
        return model_type == "classifier" and "baseline" in (evaluator_config or {})

    def evaluate(
        self,
        *,
        model_type: str,
        dataset: Any,
        run_id: str,
        evaluator_config: dict[str, Any],
        model: Any = None,
        **_: Any,
    ) -> EvaluationResult:
        """Judge the model, log metrics and artifacts to the run, and return them."""
        before, after = evaluator_config["baseline"], dataset.predictions_data
        if isinstance(before, str):
            before = mlflow.pyfunc.load_model(before).predict(dataset.features_data)
        if model is not None:
            after = model.predict(dataset.features_data)
        limits = Limits.from_mapping(evaluator_config.get("limits", {}))
        populations = _populations(dataset.labels_data, np.asarray(before), np.asarray(after))
        limits = limits.for_classes(populations[0].num_classes)
        verdict = gate(*populations, limits, alpha=evaluator_config.get("alpha", 0.05))
        metrics = {f"{PLACE}/passed": float(verdict.outcome == PASS)}
        metrics |= {f"{PLACE}/{check.name}": check.value for check in verdict.checks}
        client = mlflow.MlflowClient()
        client.set_tag(run_id, f"{PLACE}.verdict", verdict.outcome)
        for name, value in metrics.items():
            client.log_metric(run_id, name, value)
        client.log_text(run_id, gate_markdown({"model": verdict}), f"{PLACE}/gate.md")
        client.log_table(run_id, verdict.classes, f"{PLACE}/classes.json")
        return EvaluationResult(metrics=metrics, artifacts={}, run_id=run_id)


def _populations(
    labels: Any, before: np.ndarray, after: np.ndarray
) -> tuple[Predictions, Predictions]:
    """Return the predictions of both models, whose classes may have names."""
    scored = [before.ndim == 2, after.ndim == 2]
    if any(scored):
        if not all(scored):
            raise InputError("baseline", "classes of one model, scores of the other", "both alike")
        return Predictions.from_scores(labels, before), Predictions.from_scores(labels, after)
    names, codes = np.unique(np.concatenate([labels, before, after]), return_inverse=True)
    truth, first, second = np.split(codes, [len(labels), len(labels) + len(before)])
    named = {"class_names": tuple(map(str, names))}
    return Predictions.from_top1(truth, first, **named), Predictions.from_top1(
        truth, second, **named
    )
