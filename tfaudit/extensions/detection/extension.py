"""Declares detection: which boxes a compressed detector no longer finds."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.detection"

EXTENSION = Extension(
    name="detection",
    requires=("pycocotools",),
    names={
        "BoxLimits": f"{_HOME}.limits:BoxLimits",
        "detect": f"{_HOME}.detection:detect",
        "detections": f"{_HOME}.coco_files:detections",
        "read_detections": f"{_HOME}.coco_files:read_detections",
        "read_truth": f"{_HOME}.coco_files:read_truth",
    },
    commands={"detect": f"{_HOME}.command:detect"},
    quantities={
        "box_recall_drop_pp": f"{_HOME}.limits:BOX_RECALL",
        "false_positives_per_image": f"{_HOME}.limits:FALSE_POSITIVES",
        "map_drop_pp": f"{_HOME}.limits:MEAN_PRECISION",
    },
)
