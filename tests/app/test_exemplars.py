"""The page Images: filters against masks, pages, missing images, one image over all levels."""

import numpy as np
import pandas as pd
import pytest

from tests.builders.pages import (
    bodies,
    cards,
    words,
)
from tests.builders.studies import NAMES, before_and_after, make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.quantities import range_text
from tfaudit.audits.chance.chance import chance
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.prediction_counts.prediction_counts import count_predictions
from tfaudit.store.store import Store, open_store

GROUPS = pd.DataFrame({"age": ["old", "young", None, "young"] * 50, "writer": range(200)})


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("small"), groups=GROUPS)


@pytest.fixture(scope="module")
def found(store):
    return exemplars(*before_and_after(store))


def ids(app):
    return list(next(frame.value for frame in app.dataframe if "example" in frame.value)["example"])


@pytest.mark.slow
def test_the_gallery_shows_the_surest_first(opened, found):
    app = opened()
    surest = found.pies.sort_values("decisiveness", ascending=False, kind="stable")
    assert ids(app) == list(surest["example"])
    assert len(cards(app)) == 24
    assert sum("right, " in body and "share of the models" in body for body in bodies(app)) == 1
    for card, row in zip(cards(app), surest.head(24).to_dict("records"), strict=True):
        assert f'alt="Image {row["example"]}, of class' in card
        assert f"{round(4 * row['baseline_share'])} of 4" in card
        assert "<script" not in card
        assert "<b>cat" not in card
    assert (
        f"{len(surest)} of 200 examples match the filters, most decisive first; {len(surest)} of all"
        in words(app)
    )


def test_pages_follow_each_other_and_read_their_images_alone(opened, found, monkeypatch):
    opened()  # the audits measure all images once
    read = []
    images = Store.images
    monkeypatch.setattr(
        Store, "images", lambda self, split, at: (read.append(list(at)), images(self, split, at))[1]
    )
    examples = Store.examples

    def without_images(self, split, **options):
        assert not options["images"], "all were read"
        return examples(self, split, **options)

    monkeypatch.setattr(Store, "examples", without_images)
    surest = found.pies.sort_values("decisiveness", ascending=False, kind="stable")[
        "index"
    ].tolist()
    opened(page="2")
    assert read == [surest[24:48]]
    read.clear()
    opened(page="99")
    assert read == [surest[:24]]


@pytest.mark.slow
def test_filters_equal_masks(opened, store, found):
    labels, changed = found.labels, np.isin(np.arange(len(found.labels)), found.index)
    before, after = (counts.mode() for counts in before_and_after(store, measure=count_predictions))
    young = GROUPS["age"].to_numpy() == "young"
    modes = found.baseline_mode, found.compressed_mode
    wrong, correct = ((mode.among_best(labels) > 0) & changed for mode in modes)
    script = "<script>alert(1)</script>"
    cases = [
        ({"class": script}, changed & (labels == 3)),
        ({"show": "newly wrong"}, wrong),
        ({"show": "newly correct"}, correct),
        ({"show": "other wrong"}, changed & ~wrong & ~correct),
        ({"attribute": "age: young"}, changed & young),
        ({"show": "all examples", "from": script}, before == 3),
        ({"show": "all examples", "from": script, "to": script}, (before == 3) & (after == 3)),
        (
            {"class": script, "show": "newly wrong", "attribute": "age: young"},
            (labels == 3) & wrong & young,
        ),
    ]
    for choices, mask in cases:
        app = opened(**choices)
        assert 0 < mask.sum() < 200
        assert set(ids(app)) == {f"test-{i}" for i in np.flatnonzero(mask)}
        assert f"{mask.sum()} of 200 examples match" in words(app)


def test_images_are_sorted_as_asked(opened, store):
    before, after = before_and_after(store, measure=count_predictions)
    lost = before.right_share() - after.right_share()
    app = opened(show="all examples", order="most right votes lost")
    assert ids(app) == [f"test-{i}" for i in np.argsort(-lost, kind="stable")]


def test_one_image_over_all_levels(opened, store):
    app = opened(image="17")
    shown = app.dataframe[-1].value
    assert shown["probability"].between(0, 1).all()
    for side, key in (("before", "dense"), ("after, magnitude 90 %", "magnitude-0.9")):
        first = count_predictions(store.predictions(key)).image(17).iloc[0]
        votes, probability = first["votes"], 100 * first["probability"]
        said = (
            f"{side}: **{NAMES[first['answer']]}** ({votes:g} of 4, probability {probability:.0f} %"
        )
        assert said in words(app)
    for key, title in store.study.titles.items():
        votes = count_predictions(store.predictions(key)).image(17)
        assert dict(shown[shown["title"] == title].set_index("name")["votes"]) == dict(
            zip(votes["class"], votes["votes"], strict=True)
        )
    assert "age: young" in words(app)
    assert any('alt="Image test-17, of class' in body for body in bodies(app))


def test_counts_of_every_level(opened, store, found):
    app = opened(exemplars="By variant")
    table = app.dataframe[0].value.set_index("title")
    assert table.loc["magnitude 90 %", "pies"] == len(found.index)
    null = chance(*before_and_after(store)).frame().iloc[0]
    np.testing.assert_allclose(
        table.loc["magnitude 90 %", ["low", "expected", "high", "p"]].astype(float),
        null[["low", "expected", "high", "p"]].astype(float),
        atol=5e-5,  # p is a text of four decimals
    )
    assert list(table.index) == ["magnitude 90 %", "fixed-point int8"]
    assert table.loc["fixed-point int8", ["low", "expected", "high", "p"]].isna().all()  # paired
    changed = StudyAudit.read(store).summary.frame().set_index("variant")["changed_predictions"]
    assert (
        f"Training the baseline again changes {changed['dense']:,.0f} of 200 predictions"
        in words(app)
    )
    assert dict(table["changed_predictions"]) == {
        "magnitude 90 %": changed["magnitude-0.9"],
        "fixed-point int8": changed["int8"],
    }


@pytest.mark.slow
def test_ranges_of_confidence_and_of_properties(open_page, digits):
    study_audit = StudyAudit.read(open_store(digits))
    key = study_audit.data.compressed_keys[0]
    titles = study_audit.data.titles
    confidence = 100 * study_audit.data.populations[key].probabilities[..., 0].mean(0)
    low, high = np.quantile(confidence, [0.3, 0.5])
    tilt = next(
        values for values in study_audit.data.image_properties if values.name == "absolute tilt"
    )
    by_writer = tilt.groupby(study_audit.data.individuals.to_numpy()).transform("mean")
    least, most = by_writer.quantile([0.1, 0.6])
    for name, values, ends in (
        ("confidence after, %", confidence, (low, high)),
        ("mean absolute tilt by writer", by_writer, (least, most)),
    ):
        link = range_text(name, *ends)
        app = open_page(
            digits, "exemplars", variant=titles[key], show="all examples", attribute=[link]
        )
        assert app.multiselect(key="attribute").value == [link]
        expected = ((values >= ends[0]) & (values <= ends[1])).sum()
        assert any(text.value.startswith(f"{expected} of 300") for text in app.markdown)
    for wrong in ("tilt: low to high", "weight: 1 to 2", "mean absolute tilt by writer: 1 to e"):
        app = open_page(digits, "exemplars", attribute=[wrong])
        assert not app.error
        assert len(app.warning) == 1
