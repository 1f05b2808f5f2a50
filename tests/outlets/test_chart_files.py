"""The charts of a study as files of every format."""

import io
import xml.etree.ElementTree as ET

import pytest
from PIL import Image

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.charts.renderer import draw
from tfaudit.errors import Notice
from tfaudit.outlets.chart_files import save_charts, study_charts
from tfaudit.outlets.html import write_report


@pytest.fixture
def fatal_accuracy(monkeypatch):
    """vl-convert aborts on the chart of the accuracies."""

    def charts(audit):
        charts = study_charts(audit)
        return charts | {"accuracy": charts["accuracy"].properties(title="\a")}

    monkeypatch.setattr("tfaudit.outlets.chart_files.study_charts", charts)


@pytest.mark.slow
def test_a_chart_that_kills_the_renderer_is_left_out_and_all_others_are_written(
    store, tmp_path, fatal_accuracy
):
    study_audit = StudyAudit.read(store)
    page = write_report(study_audit, tmp_path / "report.html").read_text()
    lost = '<p class="limits">This chart is left out: vl-convert, which draws the charts, crashed on this one.</p>'
    assert (
        page.count("This chart is left out")
        == page.count(f'<figure tabindex="0">{lost}</figure>')
        == 1
    )
    assert page.count('<svg xmlns="http://www.w3.org/2000/svg" class="chart"') > 10
    with pytest.warns(
        Notice, match="chart accuracy is left out: vl-convert, which draws the charts, crashed"
    ):
        files = save_charts(study_audit, tmp_path / "charts", ["svg"])
    assert {"difficulty.svg", "class-impact-int8.svg"} <= {file.name for file in files}
    assert "accuracy.svg" not in {file.name for file in files}
    assert draw("vegalite_to_svg", {"mark": "bar", "data": {}})


@pytest.mark.slow
def test_save_charts(store, tmp_path):
    files = save_charts(StudyAudit.read(store), tmp_path / "new")
    names = {
        "accuracy",
        "difficulty",
        "distortion-slopes",
        "distortion-accuracy-slope",
        "distortion-balances",
    }  # no corrected slopes
    names |= {"operating-points", "classes"}
    names.add("chance-magnitude-0.9")  # int8 is paired: no test reassigns its members
    per_variant = ("class-impact", "calibration", "negative-flips", "intersections")
    names |= {f"{name}-{variant}" for name in per_variant for variant in ("magnitude-0.9", "int8")}
    names |= {"divergence-int8", "forecast-int8"}  # of the variant made from the dense members
    assert {file.name for file in files} == {
        f"{name}.{suffix}" for name in names for suffix in ("png", "svg", "pdf")
    }
    for file in files:
        content = file.read_bytes()
        if file.suffix == ".png":
            assert min(Image.open(io.BytesIO(content)).size) > 200
        elif file.suffix == ".svg":
            assert ET.fromstring(content).tag.endswith("svg")
        else:
            assert content.startswith(b"%PDF")
