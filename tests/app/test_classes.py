"""The page Classes shows what the audit of the store gives, for any choice, and names as the text they are."""

import numpy as np
import pytest
from markupsafe import escape

from tests.builders.many_classes import HOSTILE, NAMES, make_study_of_many_classes
from tests.builders.pages import HARMED, bodies, cards, words
from tests.builders.studies import before_and_after, make_study
from tfaudit.audits.classes.classes import class_impact, corrected_together
from tfaudit.audits.flips.image_changes import image_changes
from tfaudit.audits.prediction_counts.prediction_counts import count_predictions


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return make_study_of_many_classes(tmp_path_factory.mktemp("many"))


def impact(store, **options):
    """The effect of magnitude 90 %, corrected for the classes of all variants as everywhere in a study."""
    found = {
        key: class_impact(*before_and_after(store, key), **options)
        for key in store.variants
        if key != "dense"
    }
    return corrected_together(found)["magnitude-0.9"]


def table(app, *columns):
    """The first table with these columns."""
    return next(frame.value for frame in app.dataframe if set(columns) <= set(frame.value))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shown", "correction"),
    [("uncorrected", "none"), ("Holm", "holm"), ("Benjamini-Hochberg", "bh")],
)
def test_verdicts_are_those_of_the_correction(opened, store, shown, correction):
    app = opened(correction=shown)
    expected = impact(store).frame(correction)
    shown_table = table(app, "class", "verdict").set_index("class")
    for column in ("verdict", "relative_verdict"):
        assert dict(shown_table[column]) == dict(
            zip(expected["class"], expected[column], strict=True)
        )
    count = (expected["verdict"] == "lost recall").sum()
    assert f"{count} of 5 classes lost recall" in words(app)
    assert shown in words(app)
    relative = opened(correction=shown, question="more than the average")
    count = (expected["relative_verdict"] == "worse than average").sum()
    assert f"{count} of 5 classes are worse than average" in words(relative)


def test_a_collapsed_class_is_named_whatever_the_test_says(open_page, tmp_path):
    store = make_study(tmp_path, members=2)
    app = open_page(store.directory, "classes", **HARMED)
    frame = impact(store).frame()
    (row,) = frame[frame["collapsed"]].to_dict("records")
    said = f"Collapsed: {row['class']} (mean recall {row['recall_before']:.1%} → {row['recall_after']:.1%}"
    assert str(escape(said)) in bodies(app)[0]


@pytest.mark.parametrize("centering", ["member", "population", "none", "ratio"])
def test_differences_are_centred_as_chosen(opened, store, centering):
    chosen = {
        "published": "true",
        "centering": {"none": "nothing", "ratio": "ratio to accuracy"}.get(centering, centering),
    }
    app = opened(**chosen)
    shown = (
        table(app, "class", "published_p").set_index("class").loc[list(impact(store).class_names)]
    )
    expected = impact(store, centering=centering).published
    assert shown["published_p"].tolist() == [
        f"{p:.4f}" if p >= 0.0001 else " < .0001" for p in expected.p
    ]
    np.testing.assert_allclose(shown["published_pp"], 100 * expected.difference)


@pytest.mark.slow
def test_sorting_and_searching(open_page, many):
    app = open_page(many.directory, "classes", sort="name", search="SPECIES 1", **HARMED)
    shown = list(table(app, "class", "verdict")["class"])
    assert shown == sorted(name for name in NAMES if "species 1" in name)
    app = open_page(many.directory, "classes", sort="p", **HARMED)
    assert table(app, "class", "change_p")["change_p"].is_monotonic_increasing
    app.text_input[0].set_value("[").run()
    assert list(table(app, "class", "verdict")["class"]) == [HOSTILE[1]]
    app.text_input[0].set_value("nowhere").run()
    assert not app.exception
    assert "No class with examples has such a name" in words(app)


def test_one_class(opened, store):
    app = opened(**{"class": "dog & co"})
    app.session_state["confusion-magnitude-0.9-class-1 every"] = True  # unfolds the table
    app.run()
    counts = before_and_after(store, measure=count_predictions)
    before, after = (count.confusion(1) for count in counts)
    shown = table(app, "name", "before", "after").set_index("name")
    for side, confusion in (("before", before), ("after", after)):
        shares = dict(zip(confusion["class"], confusion["share"], strict=True))
        assert dict(shown[side]) == pytest.approx(dict.fromkeys(shown.index, 0) | shares)
    changes = image_changes(*counts)
    kinds = changes["kind"][changes["label"] == 1]
    wrong, right = ((kinds == kind).sum() for kind in ("newly wrong", "newly correct"))
    assert f"{wrong} of its {len(kinds)} examples are newly wrong by the majority" in words(app)
    assert f"{right} newly correct" in words(app)
    assert len(cards(app)) == min((kinds != "unchanged").sum(), 6)
    assert "verdict" in app.dataframe[0].value  # all classes stand above the details of one
