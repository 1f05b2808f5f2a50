"""The charts of a study as files of every format."""

import io
import xml.etree.ElementTree as ET

import pytest
from PIL import Image

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.errors import InputError
from tfaudit.report.chart_files import save_charts


@pytest.mark.slow
def test_save_charts(store, tmp_path):
    files = save_charts(StudyAudit.read(store), tmp_path / "new")
    names = {"accuracy", "difficulty", "class-impact-magnitude-0.9", "class-impact-int8"}
    names |= {
        "chance-magnitude-0.9",
        "chance-int8",
        "slopes",
        "slope-intervals",
        "accuracy-slope",
        "balances",
        "operating-points",
        *("across-accuracies", "across-claims", "across-exemplar_levels"),
    }
    per_variant = ("calibration", "negative_flips", "intersections")
    names |= {f"{name}-{variant}" for name in per_variant for variant in ("magnitude-0.9", "int8")}
    assert {file.name for file in files} == {f"{name}.{suffix}" for name in names for suffix in ("png", "svg", "pdf")}
    for file in files:
        content = file.read_bytes()
        if file.suffix == ".png":
            assert min(Image.open(io.BytesIO(content)).size) > 200
        elif file.suffix == ".svg":
            assert ET.fromstring(content).tag.endswith("svg")
        else:
            assert content.startswith(b"%PDF")


@pytest.mark.parametrize("formats", [("gif",), "png"])
def test_unknown_format(store, tmp_path, formats):
    with pytest.raises(InputError, match=r"formats: .*png, svg, pdf"):
        save_charts(StudyAudit.read(store), tmp_path, formats)


@pytest.mark.slow
def test_folder_that_is_a_file(store, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"folder: .* cannot be written"):
        save_charts(StudyAudit.read(store), tmp_path / "file", ("svg",))
