"""Every parameter of the URL: what a link says wrongly is named on the page, and never breaks it."""

import numpy as np
import pytest

from tests.builders.corrupted_studies import corrupted_study
from tests.builders.nightly import and_nightly
from tests.builders.pages import unescaped
from tests.builders.studies import WRITERS
from tfaudit.app.url_state import PARAMETERS
from tfaudit.audits.gate.limits import FLAGS, OF_ERRORS, OF_TWO_CLASSES
from tfaudit.extensions.slices.stored_features import save_features

IMAGE = {"variant", "image"}

# This study has more classes than two, and no errors.
OF_OTHERS = {FLAGS[name] for name in (*OF_TWO_CLASSES, *OF_ERRORS[1])}
LIMITS = {*FLAGS.values()} - OF_OTHERS
PLACES = {
    "overview": {*LIMITS, "image", "split", "study"},
    "classes": {
        *IMAGE,
        "columns",
        "class",
        "question",
        "correction",
        "sort",
        "range",
        "published",
        "about",
        "class-page",
    },
    "classes?published=true": {"centering"},
    "exemplars": {*IMAGE, "class", "show", "from", "to", "attribute", "order", "page", "exemplars"},
    "exemplars?image=0": {"zoom"},
    "corruptions": {"image", "corruptions"},
    "corruptions?corruptions=Classes": IMAGE,
    "corruptions?corruptions=One image": {*IMAGE, "corruption", "class", "picture"},
    "distortion": IMAGE,
    "operating_points": {
        *LIMITS,
        *("image", "floor", "worth", "worth-unfairness", "worth-accuracy", "against"),
    },
    "remedies": {"image"},
    "groups": {*IMAGE, "by", "groups"},
    "slices": {*IMAGE, "slice", "page"},
    "forecast": {*IMAGE, "page"},
    "groups?groups=Images": {"property"},
    "compare": {*IMAGE, "reference", "before", "after", "kind", "flips", "class", "from", "to"},
    "calibration": IMAGE,
    "negative_flips": IMAGE,
    "intersections": IMAGE,
}
"""Parameters that a page reads, by its path with those without which it does not read them."""

FREE = {"search"}  # any text
NOTHING = {*LIMITS}  # empty, they say: no limit


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    facts = WRITERS.assign(light=np.where(np.arange(len(WRITERS)) % 3, "day", "night"))
    made = corrupted_study(tmp_path_factory.mktemp("parameters"), groups=facts)
    save_features(made, np.random.default_rng(0).normal(size=(len(facts), 3)))
    return made


def test_every_parameter_has_a_place():
    assert set().union(*PLACES.values()) | FREE | OF_OTHERS == PARAMETERS


def noticed(app):
    return {
        unescaped(text.value).split(":")[0].removeprefix("In the link, ") for text in app.warning
    }


@pytest.mark.parametrize(
    ("place", "wrong"),
    and_nightly(
        [*((place, "no such") for place in PLACES), ("classes", ""), ("compare", "")],
        [(place, "") for place in PLACES.keys() - {"classes", "compare"}],
    ),
)
def test_what_a_link_says_wrongly_is_named(open_page, store, place, wrong):
    path, _, needed = place.partition("?")
    keys = PLACES[place] - (NOTHING if not wrong else set())
    app = open_page(
        store.directory,
        path,
        **dict.fromkeys(keys, wrong),
        **dict([needed.split("=")] if needed else []),
    )
    assert not app.error
    assert noticed(app) == keys
