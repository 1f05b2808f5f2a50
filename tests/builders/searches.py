"""Fixtures of searches: a model, its data, and a search that is run once."""

import pytest

from tests.builders.compressible import CLASSES, blobs, classifier, with_outlier
from tests.builders.kinds import only_kinds
from tfaudit.audits.gate.limits import Limits
from tfaudit.compress.litert.conversions import Conversions
from tfaudit.compress.model_files import load_keras
from tfaudit.datasets.examples import Examples, as_dataset
from tfaudit.datasets.representative import representative_part
from tfaudit.extensions.search import candidate_models, candidates, search_report
from tfaudit.extensions.search import search as search_module
from tfaudit.extensions.search.candidate_store import CandidateStore
from tfaudit.extensions.search.search import compress_to_limits
from tfaudit.extensions.search.search_inputs import (
    Parts,
    SearchInputs,
    SourceModel,
    in_memory,
    weights_seal,
)
from tfaudit.extensions.search.search_settings import FINE_TUNING, SearchSettings
from tfaudit.outlets.html import write_report
from tfaudit.study.training import Training

LIMITS = Limits(overall_drop_pp=4, worst_class_drop_pp=12)


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """The path of a trained model's file."""
    path = tmp_path_factory.mktemp("model") / "blobs.keras"
    classifier().save(path)
    return path


@pytest.fixture(scope="session")
def data():
    """Examples that the model was not trained on, and the training data."""
    x, y = blobs(800, 2)
    return Examples(x, y, class_names=CLASSES, ids=[f"e{i:03d}" for i in range(800)]), Examples(
        *blobs(800, 1)
    )


CONVERTED = {}


FILE = Conversions.file


def converted_once(conversions, kind, **settings):
    """Equal models give equal bytes, as `quantize` promises: each is converted once for all searches of the tests."""
    conversions._check()
    key = (
        weights_seal(conversions._forward.model),
        kind,
        conversions._representative.tobytes(),
        repr(settings),
    )
    if key not in CONVERTED:
        CONVERTED[key] = FILE(conversions, kind, **settings)
    return CONVERTED[key]


@pytest.fixture
def few_candidates(monkeypatch):
    """Two kinds, and a pruned model of either granularity: a search of seconds."""
    monkeypatch.setattr(candidates, "LEVELS", {"channel": (0.75,), "weight": (0.9,)})
    with only_kinds("float32", "dynamic_range"):
        yield


@pytest.fixture
def search(model, data, few_candidates, monkeypatch):
    """Runs a search with the training data: `search(out, **changes)`; the report is written if it is asked for."""
    monkeypatch.setattr(search_module, "ROUNDS", 2)
    monkeypatch.setattr(Conversions, "file", converted_once)

    def run(out, *, report=False, **changes):
        monkeypatch.setattr(
            search_report, "write_report", write_report if report else lambda *_, **__: None
        )
        settings = {
            "limits": LIMITS,
            "train": data[1],
            "training": FINE_TUNING,
            "out": out,
            **changes,
        }
        own = settings.pop("data", data[0])
        return compress_to_limits(
            settings.pop("model", model), own, settings.pop("limits"), **settings
        )

    return run


@pytest.fixture(scope="session")
def training(data):
    """The training data as a search has them."""
    return in_memory(as_dataset(data[1], "train", "train"), "train", CLASSES)


@pytest.fixture
def maker_of(training, tmp_path):
    """Gives a maker of the candidates of a model's file, in `tmp_path`: `maker_of(path, **settings)`."""

    def made(path, **settings):
        calibration = representative_part(training, 100, 0)
        parts = Parts(training, training, training, calibration, training)
        inputs = SearchInputs(SourceModel(path), parts, SearchSettings(**settings))
        store = CandidateStore(tmp_path, inputs)
        return candidate_models.CandidateMaker(inputs, store, is_over=lambda: False)

    return made


@pytest.fixture
def maker(maker_of, model):
    """Makes candidates in `tmp_path`, trained for one epoch."""
    return maker_of(model, training=Training(epochs=1, batch_size=128, optimizer="adam"))


@pytest.fixture(scope="session")
def searched():
    """The directory of the first whole search, which `whole` fills."""
    return {}


@pytest.fixture
def whole(search, searched, tmp_path_factory):
    """A whole search: its directory and its result. Do not write into it."""
    if not searched:
        directory = tmp_path_factory.mktemp("whole") / "out"
        searched["whole"] = directory, search(directory, report=True)
    return searched["whole"]


@pytest.fixture(scope="module")
def outlier(tmp_path_factory, model):
    """The path of a model that int8 ruins."""
    path = tmp_path_factory.mktemp("outlier") / "outlier.keras"
    with_outlier(load_keras(model)).save(path)
    return path


def parts_of(data):
    """Return the parts of a search of examples."""
    return Parts.of(in_memory(as_dataset(data, "data", "test"), "data", CLASSES), 0.5, 0)
