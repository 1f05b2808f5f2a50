"""`tfaudit slices`: say which images pay, where no group is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tfaudit.cli.console import out
from tfaudit.cli.options import Directory, StudyAlpha, option


def slices(
    directory: Directory,
    *,
    features: Annotated[
        Path | None,
        option("Features of the examples in their order, a .npy of (examples, numbers)."),
    ] = None,
    alpha: StudyAlpha = None,
) -> None:
    """Find slices of images that lose more than others, by features of the dense model; report and viewer show them.

    The first call stores the features of the test images in the study: those of the first dense member, or the file's.

    Example: tfaudit slices runs/digits --features features.npy
    """
    from tfaudit.analysis.audits import AUDITS
    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.datasets.array_files import ArrayFile
    from tfaudit.extensions.slices.declaration import findings
    from tfaudit.extensions.slices.stored_features import dense_features, save_features
    from tfaudit.store.files import disk_errors
    from tfaudit.store.store import open_store

    store = open_store(directory)
    if features is not None or store.table("features") is None:
        values = dense_features(store) if features is None else ArrayFile(features).read("")
        with disk_errors(directory):
            save_features(store, values)
        out.tell(
            f"{values.shape[1]:,} features of {len(values):,} examples are stored in {directory}"
        )
    study_audit = StudyAudit.read(store, alpha=alpha, permutations=0)
    for key, title in study_audit.data.titles.items():
        if AUDITS["slices"].applies(study_audit.data, key):
            result = study_audit.result("slices", key)
            lines = [*findings(title, result)]
            none = f"{title}: none of {len(result.frame())} slices loses more than all examples."
            out.print("\n".join(lines or [none]))
