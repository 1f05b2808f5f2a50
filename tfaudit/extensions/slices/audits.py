"""The audit of a study that this extension adds."""

from tfaudit.analysis.audits import Audit, measurable
from tfaudit.analysis.study_data import StudyData
from tfaudit.errors import InputError
from tfaudit.extensions.slices.declaration import SLICES
from tfaudit.extensions.slices.slices import Slices, slices


def study_slices(data: StudyData, key: str, *, alpha: float = 0.05) -> Slices:
    """Return the slices of a variant by the features that the study holds."""
    features = data.features
    if features is None:
        expected = f"those that `tfaudit slices {data.store.directory}` writes"
        raise InputError("features", "those of other examples", expected)
    sides = data.baseline, data.populations[key]
    return slices(*sides, features, facts=data.facts, alpha=alpha)


AUDIT = Audit(
    name="slices",
    result=Slices,
    compute=study_slices,
    applies=lambda data, key: measurable(data, key) and data.has_features,
    depends_on=lambda data, key: [data.fingerprints.features, data.groups_fingerprint],
    shown=SLICES,
)
