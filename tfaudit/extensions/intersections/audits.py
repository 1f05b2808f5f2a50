"""The audit of a study that this extension adds."""

from tfaudit.analysis.audits import Audit, added_groups, compared
from tfaudit.analysis.study_data import BASELINE
from tfaudit.extensions.intersections.declaration import INTERSECTIONS
from tfaudit.extensions.intersections.intersections import Intersections, intersections
from tfaudit.stats.group_codes import LEAST_IMAGES

AUDIT = Audit(
    name="intersections",
    result=Intersections,
    compute=compared(intersections, by_groups=True),
    applies=lambda data, key: key != BASELINE and data.largest_group >= LEAST_IMAGES,
    depends_on=added_groups,
    shown=INTERSECTIONS,
)
