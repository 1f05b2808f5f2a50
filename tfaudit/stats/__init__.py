"""Statistics: arrays in, arrays or frozen results out. No module here imports another room of tfaudit.

Means         `welch`, `paired_test`, `smallest_p`, `mean_interval`
Counts        `mcnemar`, `mcnemar_false_alarms` and `paired_interval` of pairs; `compare_proportions`,
              `exact_interval`
Many tests    `adjust` (Holm, Benjamini-Hochberg)
Modal labels  `modal_classes`, `count_changed_modes`
Permutations  `assign`, `count_significant`, `permuted_welch`
Precision     `Spread`, `SampleSize`: how intervals shrink with the number of images and of members
Lines         `line`, `slope` and `uncentred_r2` (through the origin)
Scores        `rank_scores`, `ratio`, `relative_change`, `normalised_balance`
Images        `tilt`, `mean_activation`, `pixel_entropy`, `class_means`, `distance_to_class_mean`
"""

from tfaudit.runtime.lazy_names import lazy_names

_MODULES = {
    "contingency": ("mcnemar", "mcnemar_false_alarms", "paired_interval"),
    "image_properties": (
        "class_means",
        "distance_to_class_mean",
        "mean_activation",
        "pixel_entropy",
        "tilt",
    ),
    "intervals": ("MeanInterval", "mean_interval"),
    "least_squares": ("Line", "line", "slope", "uncentred_r2"),
    "modes": ("count_changed_modes", "modal_classes"),
    "multiplicity": ("adjust", "interim_level", "interim_sizes"),
    "permutation": ("Assignments", "CountNull", "assign", "count_significant", "permuted_welch"),
    "precision": ("SampleSize", "Spread"),
    "proportions": ("Proportions", "compare_proportions", "exact_interval"),
    "ranking": ("RankedClasses", "rank_scores"),
    "ratios": ("normalised_balance", "ratio", "relative_change"),
    "t_tests": (
        "TTests",
        "paired_test",
        "smallest_p",
        "welch",
        "welch_from_moments",
    ),
}

lazy_names(__name__, {name: module for module, names in _MODULES.items() for name in names})
