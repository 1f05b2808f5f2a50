"""Names are cleaned once, told, and never become equal in silence."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.refusals import assert_refused
from tfaudit.audits.classes.classes import class_impact
from tfaudit.charts.rendering import chart_bytes
from tfaudit.datasets.examples import Examples
from tfaudit.errors import InputError, Notice
from tfaudit.predictions import Predictions
from tfaudit.runtime.names import clean_name, clean_names, clean_table, clean_texts
from tfaudit.store.external import import_predictions
from tfaudit.study.study import Study, Training

ANY_TEXT = st.text(st.characters(), max_size=6)  # control characters, surrogates, noncharacters


@given(ANY_TEXT)
def test_a_clean_name_is_text_stays_clean_and_keeps_what_was_text(name):
    clean = clean_name(name)
    clean.encode()
    assert not any(ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 for letter in clean)
    assert clean_name(clean) == clean
    if name.isprintable():
        assert clean == name


@pytest.mark.filterwarnings("ignore::tfaudit.errors.Notice")
@given(st.lists(ANY_TEXT, unique=True))
def test_different_names_stay_different_or_are_refused(names):
    try:
        clean = clean_names(names, "names")
    except InputError:
        assert len(set(map(clean_name, names))) < len(names)
    else:
        assert len(set(clean)) == len(names)
        assert clean == tuple(map(clean_name, names))


def test_control_characters_differ_and_meet_their_own_symbols_only():
    with pytest.warns(Notice):
        assert clean_names(["a\a", "a\b", "a\x7f", "a\x85"], "names") == (
            "a␇",
            "a␈",
            "a␡",
            "a\\u0085",
        )
    assert_refused(
        "names: got names that differ only in a control character and its symbol",
        clean_names,
        ["a\a", "a␇"],
        "names",
    )


def test_the_user_is_told_once_in_one_line_which_names_were_changed():
    with pytest.warns(Notice) as told:
        Predictions.from_top1([0, 1], [0, 1], class_names=["cat\a", "dog"])
    (notice,) = told
    assert (
        str(notice.message)
        == r"class_names: characters that are no text are replaced: 'cat\x07' as cat␇"
    )


def test_texts_and_tables_keep_what_is_clean():
    texts, numbers = np.array(["a", "b"]), np.arange(3)
    table = pd.DataFrame({"writer": ["x", None], "age": [1.0, np.nan]})
    assert clean_texts(texts, "ids") is texts
    assert clean_texts(numbers, "ids") is numbers
    assert clean_table(table, "groups") is table
    dirty = pd.DataFrame({"wri\nter": ["x\t", None], "age": [1.0, np.nan]})
    with pytest.warns(Notice):
        clean = clean_table(dirty, "groups")
    assert list(clean) == ["wri␊ter", "age"]
    assert clean["wri␊ter"][0] == "x␉"
    assert clean["wri␊ter"].isna().tolist() == [False, True]
    assert list(dirty) == ["wri\nter", "age"]


@pytest.mark.filterwarnings("ignore::tfaudit.errors.Notice")
def test_names_of_a_library_call_are_clean_in_results_and_charts():
    labels = np.arange(40) % 2
    names, ids = ["cat\a", "\ud800dog"], [f"{i}\x00." for i in range(40)]
    before, after = (
        Predictions.from_top1(labels, top1, class_names=names, example_ids=ids)
        for top1 in ([labels] * 2, [0 * labels] * 2)
    )
    assert before.class_names == ("cat␇", "\\ud800dog")
    assert before.example_ids[1] == "1␀."
    assert chart_bytes(class_impact(before, after).chart(), "png").startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore::tfaudit.errors.Notice")
def test_a_study_of_imported_predictions_has_clean_names(tmp_path):
    labels = np.arange(6) % 2
    predictions = Predictions.from_top1(labels, labels, class_names=["a\x1b", "b"])
    groups, facts = (
        pd.DataFrame({"by\r": ["x\f"] * 6}),
        pd.DataFrame({"bytes": [9]}, index=["int8\a"]),
    )
    options = {"groups": groups, "facts": facts, "paired": ["int8\a"]}
    store = import_predictions(
        tmp_path / "s", predictions, {"int8\a": predictions}, name="my\nstudy", **options
    )
    assert store.study.name == "my␊study"
    variant = store.study.variants[0]
    assert (variant.title, variant.paired) == ("int8␇", True)
    assert store.record(variant.key, 0)["bytes"] == 9
    examples = store.examples()
    assert examples.attrs["class_names"] == ["a␛", "b"]
    assert examples["by␍"].tolist() == ["x␌"] * 6


@pytest.mark.filterwarnings("ignore::tfaudit.errors.Notice")
def test_names_of_own_data_and_of_a_study_are_clean():
    own = Examples(
        np.ones((2, 1)), [0, 1], {"by\a": ["x\a", "y"]}, ["1\a", "2"], ["a\a", "b"]
    ).checked("mine")
    assert own.class_names == ("a␇", "b")
    assert own.ids.tolist() == ["1␇", "2"]
    assert own.groups["by␇"].tolist() == ["x␇", "y"]
    study = Study(
        name="s\a",
        dataset="digits",
        model="digits_convnet",
        training=Training(epochs=1),
        variants=(),
    )
    assert study.name == "s␇"
