"""The audit of a study that this extension adds."""

from tfaudit.analysis.audits import Audit, compared, made_from_dense
from tfaudit.extensions.divergence.declaration import DIVERGENCE
from tfaudit.extensions.divergence.divergence import Divergence, divergence

AUDIT = Audit(
    name="divergence",
    result=Divergence,
    compute=compared(divergence),
    applies=made_from_dense,
    shown=DIVERGENCE,
)
