"""Page 7: groups, individuals, the groups of exemplars, properties of images; numbers are those of the audits."""

import numpy as np
import pandas as pd
import pytest

from tests.builders.studies import WRITERS, before_and_after, make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.display import fields_of
from tfaudit.app.drill_down import RANGE
from tfaudit.audits.attributes.attributes import attributes
from tfaudit.audits.groups.groups import groups


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    facts = WRITERS.assign(light=np.where(np.arange(len(WRITERS)) % 3, "day", ":night: <b>"))
    return make_study(tmp_path_factory.mktemp("groups"), groups=facts)


@pytest.mark.slow
def test_a_column_is_chosen_and_kept_in_the_url(opened, store):
    app = opened()
    assert app.selectbox(key="by").options == ["series", "light"]
    app.selectbox(key="by").set_value("light").run()
    expected = (
        groups(*before_and_after(store), store.examples()["light"])
        .frame()
        .sort_values("change_pp", kind="stable")
    )
    shown = app.dataframe[0].value
    assert list(shown["group"]) == list(expected["group"])
    np.testing.assert_allclose(shown["change_p"].astype(float), expected["change_p"], atol=5e-5)
    assert list(opened(by="light").dataframe[0].value["group"]) == list(shown["group"])


def test_the_verdict_lists_every_group_that_has_a_limit(open_page, store):
    app = open_page(store.directory, "overview", max_group_drop="5")
    (table,) = (one.value for one in app.dataframe if "limit_pp" in one.value)
    assert "series: student" in set(table["group"])
    assert len(table) == 2 * (2 + 2)  # variants, and groups of series and light
    assert not any(
        "limit_pp" in one.value for one in open_page(store.directory, "overview").dataframe
    )


def test_groups_of_the_exemplars(opened, store):
    app = opened(groups="Exemplars", variant="fixed-point int8")
    expected = attributes(
        *before_and_after(store, "int8"), store.examples()[["series", "light"]]
    ).frame()
    assert set(app.dataframe[0].value["ratio"]) == set(expected["ratio"])


@pytest.mark.slow
def test_without_groups_it_says_how_to_give_them(open_page, tmp_path):
    app = open_page(make_study(tmp_path).directory, "groups")
    assert "--groups FILE" in app.info[0].value
    app = open_page(
        make_study(tmp_path / "b", groups=pd.DataFrame({"a": np.arange(200) % 2})).directory,
        "groups",
        groups="Individuals",
    )
    assert "No column" in app.info[0].value


def test_a_bar_of_the_histogram_knows_its_range(store):
    """A click on it shows the images in that range."""
    result, *_ = StudyAudit.read(store).result("trends", "int8")
    assert {"group", *RANGE} <= fields_of(result.histogram())
