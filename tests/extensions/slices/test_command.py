"""`tfaudit slices`: the features of a study, its slices in terminal, gate, report and viewer."""

import keras
import numpy as np
import pytest

from tests.builders.pages import draw, words
from tests.builders.refusals import assert_refused
from tests.builders.studies import before_and_after, make_study
from tests.builders.tiny_studies import STUDY
from tfaudit import Limits, features, open_store
from tfaudit.analysis.example_facts import example_facts
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.extensions.slices.slices import slices
from tfaudit.extensions.slices.stored_features import dense_features
from tfaudit.outlets.sections.order import study_sections
from tfaudit.population.stored_examples import load_test, store_examples
from tfaudit.store.store import Store


@pytest.fixture
def place(tmp_path, tfaudit):
    """A study whose features are 200 images' classes and noise, stored by the command."""
    store = make_study(tmp_path / "study", members=3)
    points = np.random.default_rng(0).normal(size=(200, 3)) + store.examples()[["label"]].to_numpy()
    np.save(tmp_path / "f.npy", points)
    code, printed, _ = tfaudit("slices", store.directory, "--features", tmp_path / "f.npy")
    assert code == 0
    assert "3 features of 200 examples are stored" in printed
    return store.directory


def test_stored_features_make_the_slices_of_every_outlet(place, tfaudit):
    store = open_store(place)
    study_audit = StudyAudit.read(store, permutations=0)
    data = study_audit.data
    assert data.features.dtype == np.float16
    found = study_audit.result("slices", "magnitude-0.9")
    expected = slices(*before_and_after(store), data.features, facts=data.facts)
    assert found.frame().equals(expected.frame())
    code, printed, _ = tfaudit("slices", place)
    assert code == 0
    assert "magnitude 90 %: " in printed
    assert "are stored" not in printed
    section = next(s for s in study_sections(study_audit) if s.key == "slices")
    assert len(section.tables) == len(data.compressed_keys)


def test_the_gate_and_the_viewer_judge_alike(place, tfaudit):
    words = ("gate", place, "--variant", "magnitude-0.9", "--max-slice-drop")
    study_audit = StudyAudit.open(place, permutations=0)
    for limit in (0, 60):
        code, printed, _ = tfaudit(*words, limit)
        verdict = study_audit.verdict(Limits(slice_drop_pp=limit)).verdicts["magnitude-0.9"]
        assert code == verdict.exit_code
        assert f"{verdict.checks[0].value:.2f} pp" in printed
    without = make_study(place.parent / "other", members=2).directory
    code, printed, _ = tfaudit("gate", without, "--variant", "int8", "--max-slice-drop", 5)
    assert code == 2
    assert "Slices are unknown" in printed


@pytest.mark.slow
def test_the_page_shows_the_images_of_a_slice(place):
    from streamlit.testing.v1 import AppTest

    app = AppTest.from_function(draw, args=(str(place), "slices"), default_timeout=60)
    app.query_params["variant"] = "magnitude 90 %"
    app.run()
    assert not app.exception
    found = StudyAudit.open(place).result("slices", "magnitude-0.9")
    assert list(app.dataframe[0].value["slice"]) == list(found.table["slice"])
    assert "Examples that most models lose come first" in words(app)
    shown = [button.key for button in app.button if str(button.key).startswith("card ")]
    assert shown == [f"card {position}" for position in found.images(1)[:12]]


def test_features_of_other_examples_are_refused(place, tfaudit, refused, tmp_path):
    np.save(tmp_path / "short.npy", np.zeros((9, 2)))
    refused(tfaudit("slices", place, "--features", tmp_path / "short.npy"), "features: got shape")
    store = open_store(place)
    table = store.table("features")
    store.save_table("features", table.assign(example=table["example"][::-1].to_numpy()))
    refused(tfaudit("slices", place), "features: got those of other examples")


@pytest.mark.slow
def test_features_are_those_of_the_first_dense_member(tmp_path):
    store = Store.create(tmp_path / "study", STUDY, {})
    test = load_test(STUDY)
    store_examples(store, test)
    layers = [keras.layers.Flatten(), keras.layers.Dense(7, activation="relu")]
    model = keras.Sequential([keras.Input(test.image_shape), *layers, keras.layers.Dense(10)])
    model.save(tmp_path / "model.keras")
    content = (tmp_path / "model.keras").read_bytes()
    store.save_member("dense", 1, {store.member_path("dense", 1, "model.keras"): content}, {})
    np.testing.assert_array_equal(dense_features(store), features(model, test))
    store.imported = {"dense": (1,)}
    assert_refused("features: got none, expected --features FILE", dense_features, store)


def test_facts_are_told_by_texts_and_rows():
    texts = example_facts([b"what a lovely day", b"lovely rain", b"snow today", b"fog here"])
    assert texts['"lovely"'].tolist() == ["yes", "yes", "no", "no"]
    rows = example_facts([b"age: 3\nsex: f", b"age: 5\nsex: m"])
    assert rows["age"].tolist() == [3, 5]
    assert rows["sex"].tolist() == ["f", "m"]
    assert example_facts([b"one text", b""]).shape == (2, 0)
