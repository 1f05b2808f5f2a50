"""The page of recall distortion: all variants with the figures of the report, then the classes of one."""

import pytest

from tests.builders.pages import words
from tests.builders.sections import cells
from tests.builders.simulated_studies import Truth, simulate
from tests.builders.studies import make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import DEFAULT_LIMITS
from tfaudit.extensions.distortion.recall_distortion import distortion
from tfaudit.outlets.sections.audit import joint_section
from tfaudit.store.external import import_predictions
from tfaudit.study.variants import Quantized


def test_page_and_report_have_one_slope_and_one_interval(open_page, tmp_path):
    truth = Truth(recalls={"Shirt": (0.4,)}, paired=True)
    before, after = simulate(truth, 0, members=3, images=200)
    _, other = simulate(Truth(recalls={"Shirt": (0.5,)}, paired=True), 0, members=3, images=200)
    variants = {"small": after, "smaller": other}
    directory = tmp_path / "study"
    store = import_predictions(directory, before, variants, name="two", paired=[*variants])
    app = open_page(store.directory, "distortion")
    assert not app.error
    shown = app.dataframe[0].value.set_index("title")
    section = joint_section(StudyAudit.read(store), DEFAULT_LIMITS, "distortion")
    table = cells(section.tables[0])
    for row, (key, population) in enumerate(variants.items()):
        slope = distortion(before, population, paired=True).corrected
        value, low, high = (float(figure[0]) for figure in (slope.value, *slope.interval(0.95)))
        assert low < value < high
        ends = shown.loc[key, ["corrected", "corrected_low", "corrected_high"]].tolist()
        assert ends == pytest.approx([value, low, high])
        assert f"{value:.3f}" == table["corrected"][row]
    assert all(finding in words(app) for finding in section.findings)


def test_single_quantized_members_have_slopes_alone(open_page, tmp_path):
    store = make_study(tmp_path, members=1, variants=(Quantized("int8"),))
    app = open_page(store.directory, "distortion")
    assert not app.error
    assert len(app.dataframe) == 3  # slopes, their spread, classes
