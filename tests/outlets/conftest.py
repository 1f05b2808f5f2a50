"""A report that is written once, and reports without their drawings, which take most of the time of writing one."""

import pytest

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.charts import rendering
from tfaudit.outlets import html


@pytest.fixture(scope="session")
def written(store):
    """The file of the report of the small synthetic study."""
    return html.write_report(StudyAudit.read(store))


@pytest.fixture
def without_drawings(monkeypatch):
    """Reports have an empty element in the place of each chart."""
    monkeypatch.setattr(
        rendering, "inline_svg", lambda chart, description, **size: '<svg class="chart"></svg>'
    )
