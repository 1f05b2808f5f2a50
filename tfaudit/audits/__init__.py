"""Audits: predictions in, frozen results out, each with `.frame()`, `.summary()` and most with `.chart()`.

Ground        `Comparison` of two populations, the base `Result` of all results
Populations   `class_impact`, `exemplars`, `chance`, `robustness`, `summary`
Predictions   `flip_rates`, `image_changes`
Two models    `compare`, `gate` with `Limits`
Verdict       `measure` once, then `judge` and `study_verdict` for any limits
Groups        `groups`, `attributes`
"""

from tfaudit.runtime.lazy_names import lazy_names

_MODULES = {
    "comparison": ("Comparison",),
    "result": ("Result",),
    "classes.classes": ("class_impact", "ClassImpact"),
    "exemplars.exemplars": ("exemplars", "Exemplars"),
    "chance.chance": ("chance", "Chance"),
    "model_pair.model_pair": ("compare", "PairComparison"),
    "robustness.robustness": ("robustness", "Robustness", "robustness_table"),
    "flips.negative_flips": ("flip_rates", "NegativeFlips"),
    "groups.groups": ("groups", "Groups"),
    "attributes.attributes": ("attributes", "Attributes"),
    "prediction_counts.prediction_counts": ("count_predictions", "PredictionCounts"),
    "flips.image_changes": ("image_changes",),
    "classes.class_rates": ("class_rates",),
    "summary.summary": ("summary", "Summary"),
    "gate.gate": ("gate", "judge", "Verdict"),
    "gate.measurements": ("measure", "Measurements"),
    "gate.limits": ("Limits",),
    "verdict.study_verdict": ("study_verdict", "StudyVerdict"),
}

lazy_names(__name__, {name: module for module, names in _MODULES.items() for name in names})
