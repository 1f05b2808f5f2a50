"""Audits: predictions in, frozen results out, each with `.frame()`, `.summary()` and most with `.chart()`.

Populations   `class_impact`, `exemplars`, `chance`, `distortion`, `robustness`, `summary`
Predictions   `calibration`, `flip_rates`, `image_changes`
Two models    `compare`, `gate` with `Limits`; `retrained_twins` for what training again changes
Verdict       `measure` once, then `judge` and `study_verdict` for any limits; `plan` before anything is trained
Groups        `groups`, `intersections`, `attributes`, `trends`
All variants  `accuracies`, `claims`, `class_counts`, `class_recalls`, `difficulty_levels`
Choice        `trade_offs`, `operating_points`, `pareto_shares`
Regression    `class_table`, `factors`, `factors_glm`
Human raters  `survey_sample`, `survey`
"""

from tfaudit.lazy_names import lazy_names

_MODULES = {
    "classes": ("class_impact", "ClassImpact"),
    "exemplars": ("exemplars", "Exemplars"),
    "chance": ("chance", "Chance"),
    "model_pair": ("compare", "PairComparison"),
    "retrained_twins": ("retrained_twins", "RetrainedTwins"),
    "distortion.recall_distortion": ("distortion", "Distortion"),
    "distortion.slopes": ("slope_frame", "slope_intervals", "slope_means"),
    "distortion.slope_tests": ("slope_tests",),
    "distortion.slope_tables": ("accuracy_table", "level_table", "p_table", "variance_table"),
    "corruption.robustness": ("robustness", "Robustness", "robustness_table"),
    "calibration": ("calibration", "Calibration"),
    "negative_flips": ("flip_rates", "NegativeFlips"),
    "groups": ("groups", "Groups"),
    "intersections": ("intersections", "Intersections"),
    "trends": ("trends", "Trends"),
    "attributes": ("attributes", "Attributes"),
    "prediction_counts": ("count_predictions", "PredictionCounts"),
    "image_changes": ("image_changes",),
    "class_rates": ("class_rates",),
    "summary": ("summary", "Summary"),
    "levels.accuracies": ("accuracies", "Accuracies"),
    "levels.claims": ("claims", "Claims"),
    "levels.class_counts": ("class_counts", "ClassCounts"),
    "levels.class_recalls": ("class_recalls", "ClassRecalls"),
    "levels.difficulty": ("difficulty_levels", "DifficultyLevels"),
    "operating_points": ("trade_offs", "operating_points", "pareto_shares", "OperatingPoints"),
    "factors.class_table": ("class_table",),
    "factors.regression": ("factors", "factors_glm", "Factors"),
    "survey.sample": ("survey_sample", "SurveySample"),
    "survey.survey": ("survey", "Survey"),
    "gate.gate": ("gate", "judge", "Verdict"),
    "gate.measurements": ("measure", "Measurements"),
    "gate.limits": ("Limits",),
    "study_verdict": ("study_verdict", "StudyVerdict"),
    "planning": ("plan", "pilot_spread", "guessed_spread", "Plan"),
}

lazy_names(__name__, {name: module for module, names in _MODULES.items() for name in names})
