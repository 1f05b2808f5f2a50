"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Chart, Declaration, Table

TRENDS = Declaration(
    name="trends",
    title="Properties of the images",
    question="Does one kind of image lose more?",
    method=(
        "Accuracy against a digit's tilt, ink and distance from the mean of its class: do the "
        "fitted lines before and after compression diverge?"
    ),
    part="Which examples",
    source="[P] 4.1 and C",
    charts=(
        Chart(
            description="Accuracy against {result.property}, before and after, with fitted lines.",
            title="{result.property}",
        ),
        Chart(
            name="change",
            description="Change of accuracy against {result.property}, with a parabola per group.",
            draw=lambda result: result.change_chart(),
            title="{result.property}, change",
        ),
        Chart(
            name="individuals",
            description="Accuracy of every individual after against before, coloured by {result.property}.",
            draw=lambda result: result.scatter(),
            title="{result.property}, by individual",
            shown=lambda result: result.of_individuals,
        ),
        Chart(
            name="histogram",
            description="Histogram of {result.property} in every group.",
            draw=lambda result: result.histogram(),
            title="distribution of {result.property}",
            shared=True,
        ),
        Chart(
            name="tilt",
            description="A grey image, and its brighter pixels with the least-squares line through them.",
            draw=lambda result: result.tilt_chart(),
            title="How the tilt is measured",
            shown=lambda result: result.tilted is not None,
            shared=True,
        ),
    ),
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
            title="slopes on {result.property}",
            headings=lambda result: {"group": result.column},
            folded=True,
        ),
    },
)
