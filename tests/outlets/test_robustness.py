"""The section on robustness: what it reads, what it says is missing, and the strip of one image."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from tests.builders.corrupted_studies import corrupted_study
from tests.builders.sections import cells
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_robustness import excess_findings
from tfaudit.audits.gate.limits import DEFAULT_LIMITS
from tfaudit.audits.robustness.robustness import robustness
from tfaudit.datasets.corruptions.corrupt import corrupt
from tfaudit.outlets.html import write_report
from tfaudit.outlets.sections.audit import joint_section
from tfaudit.predictions import Predictions
from tfaudit.study.variants import Pruned


@pytest.fixture(scope="module")
def corrupted(tmp_path_factory):
    store = corrupted_study(tmp_path_factory.mktemp("corrupted"), benchmarks=("imagenet_a",))
    return store, section_of(store)


def section_of(store):
    return joint_section(StudyAudit.read(store, permutations=0), DEFAULT_LIMITS, "robustness")


def audited(store, variant):
    sides = (
        {c: store.predictions(key, c.split) for c in store.study.conditions}
        for key in ("dense", variant)
    )
    clean = store.predictions("dense"), store.predictions(variant)
    assert (clean[1].parents is not None) == (variant == "int8")
    return robustness(*sides, clean=clean)


def pixels(source):
    content = base64.b64decode(source.removeprefix("data:image/png;base64,"))
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image)


@pytest.mark.slow
def test_figures_are_those_of_the_audit(corrupted):
    store, section = corrupted
    found = audited(store, "magnitude-0.9")
    means = cells(section.tables[0])
    assert means["variant"] == ("magnitude 90 %", "fixed-point int8")
    assert means["mCE, %"][0] == f"{100 * found.summary()['mce']:.1f}"
    assert means["excess, pp"][0].replace("−", "-") == f"{found.summary()['excess_pp']:+.2f}"
    relative = cells(section.tables[1])
    assert relative["corruption"] == ("fog", "gaussian noise", "imagenet a", "all corruptions")
    ours = found.frame().query("k == 1")["relative_change"]
    assert relative["magnitude 90 %, top-1"][:3] == tuple(
        f"{100 * x:+.2f}".replace("-", "−") for x in ours
    )
    quantized = audited(store, "int8").summary()
    ps = found.summary()["excess_p"], quantized["excess_p"]
    assert means["p of excess"] == tuple(f"{p:.2g}" for p in ps)
    assert "Members of fixed-point int8 are compared in pairs" in section.notes[0]
    names = ("relative-top1", "relative-top5", "severity", "classes-magnitude-0.9", "classes-int8")
    assert [figure.name for figure in section.figures] == [f"robustness-{name}" for name in names]


def test_the_strip_shows_the_image_that_is_lost_first_as_the_models_saw_it(corrupted):
    store, section = corrupted
    counts = [sum(audited(store, key).lost_first.values()) for key in ("magnitude-0.9", "int8")]
    position = int(np.argmax(np.sum(counts, axis=0)))
    strip = section.corruption_strip
    assert strip.example == f"test-{position}"
    assert strip.headings == ("clean", "severity 1", "severity 3")
    lane = strip.lanes[0]
    clean = np.full((1, 8, 8, 1), position, np.uint8)
    np.testing.assert_array_equal(pixels(lane.pictures[0]), clean[0, ..., 0])
    seen = corrupt(clean, lane.corruption, 3, seed=store.study.seed, first=position)
    np.testing.assert_array_equal(pixels(lane.pictures[2]), seen[0, ..., 0])
    assert [variant.title for variant in lane.variants] == [
        "dense",
        "magnitude 90 %",
        "fixed-point int8",
    ]
    population = store.predictions("int8", f"{lane.corruption}-3")
    votes = np.bincount(population.top1[:, position], minlength=5)
    answer = lane.variants[2].predictions[2]
    assert answer.text == population.class_names[votes.argmax()]
    assert answer.votes == f"{25 * votes.max()}\u00a0%"
    assert answer.right == (votes.argmax() == population.labels[position])
    assert all(variant.predictions[0].right for variant in lane.variants[:2])


@pytest.mark.slow
def test_the_page_escapes_names_and_holds_the_strip(corrupted, tmp_path):
    store, section = corrupted
    text = write_report(
        StudyAudit.read(store, permutations=0), tmp_path / "report.html"
    ).read_text()
    assert 'id="robustness"' in text
    assert text.count('class="strip"') == 1
    assert text.count("<script>") == 1  # that of the page itself, and none of the names
    assert "<script>alert" not in text
    assert len(re.findall("<img [^>]*severity", text)) == 2 * len(section.corruption_strip.lanes)
    assert "Hendrycks" in text
    assert "gaussian_noise" not in text.split('class="strip"')[1].split("</table>")[0]


def one_model(wrong):
    """A model of 400 images of two classes, the first `wrong` of which it misses."""
    labels = np.tile([0, 1], 200)
    return Predictions.from_top1(labels, np.where(np.arange(400) < wrong, 1 - labels, labels))


@pytest.mark.parametrize(
    ("gained", "said"),
    [
        (120, "For no variant do the data show that it loses more in the mean over the"),
        (
            0,
            "pruned loses 15.0 points more in the mean over the corruptions than on clean images (",
        ),
    ],
)
def test_losses_in_the_mean_and_in_single_corruptions_are_both_told(gained, said):
    clean = one_model(0)
    before = {("fog", 1): clean, ("shot_noise", 1): one_model(gained)}
    after = {("fog", 1): one_model(120), ("shot_noise", 1): clean}
    harmed = robustness(before, after, clean=(clean, clean), paired=True)
    same = robustness(before, before, clean=(clean, clean), paired=True)
    found = excess_findings({"pruned": harmed, "float16": same})
    assert found[0].startswith(said)
    single = "In single corruptions, corrected for all 4, pruned loses more in fog (30.0 points)."
    assert found[-1] == single
    assert len(excess_findings({"float16": same})) == 1


@pytest.mark.slow
def test_what_is_missing_is_said(tmp_path):
    """The variant of 50 % lacks some evaluations, then all; a dense member lacks one."""
    planned = {"variants": (Pruned(0.9), Pruned(0.5)), "corruptions": ("fog",)}
    gone = [("int8", "fog 3"), ("magnitude-0.5", "fog 1"), ("magnitude-0.5", "fog 3")]
    severities = {"severities": (1, 3, 5), "corrupted_members": 3}
    notes = section_of(corrupted_study(tmp_path, without=gone, **planned, **severities)).notes
    assert "Left out, because not every variant was evaluated there: fog 1, fog 3." in notes
    assert "dense: 3 of 4 members were evaluated." in notes
    planned["without"] = [("magnitude-0.5", f"fog {severity}") for severity in (1, 3)]
    store = corrupted_study(tmp_path / "b", **planned)
    (tmp_path / "b/predictions/split=fog-1/variant=dense/003.parquet").unlink()
    notes = section_of(store).notes
    assert "Not evaluated under corruption: magnitude 50 %." in notes
    assert "dense: fewer than 4 members under 1 of 2 conditions." in notes
    store = corrupted_study(tmp_path / "c", corrupted_variants=("magnitude-0.9",), **planned)
    assert not any("Not evaluated" in note for note in section_of(store).notes)
