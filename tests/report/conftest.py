"""Reports without their drawings, which take most of the time of writing one."""

import pytest

from tfaudit.report import html


@pytest.fixture
def without_drawings(monkeypatch):
    """Reports have an empty element in the place of each chart."""
    monkeypatch.setattr(html, "inline_svg", lambda chart, description, **size: '<svg class="chart"></svg>')
