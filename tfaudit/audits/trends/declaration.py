"""What the audit is to a reader."""

from tfaudit.audits.declaration import Declaration, Table

TRENDS = Declaration(
    name="trends",
    title="Properties of the images",
    question=(
        "How does accuracy depend on the tilt and the ink of a digit and on how unlike its class it is, and "
        "does compression hurt one kind of image more: do the fitted lines before and after diverge?"
    ),
    source="[P] 4.1 and C",
    tables={
        "slopes": Table(
            columns=(
                "group",
                "measure",
                "units",
                "intercept",
                "slope",
                "slope_low",
                "slope_high",
                "p",
                "curvature",
                "curvature_low",
                "curvature_high",
                "curvature_p",
            ),
            catalogue="trends",
        ),
    },
)
