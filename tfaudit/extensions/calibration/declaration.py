"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration
from tfaudit.audits.flips.image_changes import NEWLY_WRONG

CALIBRATION = Declaration(
    name="calibration",
    title="Calibration",
    question="Does a compressed model still know when it is wrong?",
    method=(
        "How confidence shifts, whether it still matches accuracy, and in which classes the "
        "model becomes overconfident."
    ),
    part="In use",
    source="[G] [Ku], intervals [C]",
    images=NEWLY_WRONG,
)
