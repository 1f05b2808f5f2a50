"""The search chooses on one part, is judged on the other, survives every kill, and says what stands in its way."""

import contextlib
import dataclasses
import io
import itertools
import json
import shutil
from unittest import mock

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from rich.console import Console

from tests.builders.compressible import CLASSES, blobs, classifier, normalised
from tests.builders.nightly import first_and_nightly
from tests.builders.refusals import assert_refused
from tests.builders.studies import make_study
from tfaudit.analysis.recommendation import recommendation
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.compress.litert.conversion_error import ConversionError
from tfaudit.compress.litert.conversions import Conversions
from tfaudit.compress.model_comparison import predictions_of
from tfaudit.datasets.examples import Examples, as_dataset
from tfaudit.datasets.pipeline import training_batches
from tfaudit.errors import InputError
from tfaudit.extensions.search import candidate_models, search_report
from tfaudit.extensions.search.candidate_store import FOLDER, HELD_OUT, RESULTS, flatbuffer_path
from tfaudit.extensions.search.candidates import Preparation, candidates, channel_pruning
from tfaudit.extensions.search.command import _table
from tfaudit.extensions.search.progress import SearchProgress
from tfaudit.extensions.search.search import _Search
from tfaudit.extensions.search.search_inputs import Parts, in_memory
from tfaudit.extensions.search.smallest_file import NO_FILE, NOT_TRIED
from tfaudit.extensions.search.trials import Judge
from tfaudit.outlets.html import write_report
from tfaudit.predictions import Predictions
from tfaudit.stats.group_codes import CLUSTER
from tfaudit.store import evaluations, store
from tfaudit.store.evaluations import prediction_path
from tfaudit.store.files import lock, write_whole
from tfaudit.store.store import open_store
from tfaudit.study.remedies import REMEDIES
from tfaudit.study.training import Training
from tfaudit.study.variants import Pruned

KEPT = ("model.tflite", "verdict.json", "judged.csv")


def files_of(directory):
    """Contents of the files that have to be equal, and the table without its latencies."""
    table = pd.read_csv(directory / "candidates.csv").drop(columns="latency_1_ms")
    return {name: (directory / name).read_bytes() for name in KEPT}, table


def same_files(one, other):
    (files, table), (others, other_table) = files_of(one), files_of(other)
    pd.testing.assert_frame_equal(table, other_table)
    return files == others


@pytest.mark.slow
def test_the_verdict_is_the_gates_on_examples_that_had_no_part_in_the_choice(whole, model, data):
    directory, found = whole
    ids = pd.read_csv(directory / "judged.csv")["example"].tolist()
    rows = np.isin(data[0].ids, ids)
    assert found.examples == (400, 400)
    assert np.bincount(np.asarray(data[0].y)[rows]).tolist() == [100] * 4  # stratified
    part = Examples(data[0].x[rows], data[0].y[rows], class_names=CLASSES)
    file = directory / "model.tflite"
    made = predictions_of({"before": model, "after": file}, part)
    sizes = (model.stat().st_size, file.stat().st_size)  # saved without an optimizer
    alpha = found.verdict.alpha
    verdict = gate(made["before"], made["after"], found.limits, sizes=sizes, alpha=alpha)
    assert found.outcome == verdict.outcome == "pass"
    assert found.exit_code == 0
    pd.testing.assert_frame_equal(found.verdict.frame(), verdict.frame())
    content = json.loads((directory / "verdict.json").read_text())
    assert content["verdicts"] == {found.title: json.loads(json.dumps(verdict.summary()))}
    assert content["search"]["seed"] == 0
    words = "the 400 held-out examples, which had no part in the search"  # a pruned model
    assert found.judged_on == content["search"]["judged_on"] == words


@pytest.mark.slow
def test_the_smallest_candidate_that_passes_on_both_parts_is_chosen(whole, model):
    directory, found = whole
    table = found.frame().set_index("candidate")
    plan = candidates(lambda: keras.saving.load_model(model), training=True)
    assert {candidate.key for candidate in plan} == set(table.index)
    tried = table[~table["outcome"].isin([NOT_TRIED, NO_FILE])]
    assert tried["bytes"].is_monotonic_increasing
    # others are measured only if latency is limited
    assert table.index[table["latency_1_ms"] > 0].tolist() == [found.chosen]
    assert [found.chosen] == table.index[table["chosen"]].tolist()
    assert found.chosen == tried.index[tried["outcome"] == "pass"][0]
    assert found.content == found.path.read_bytes()
    assert found.content == flatbuffer_path(directory, found.chosen).read_bytes()
    assert "fewer channels" in found.title  # smaller than the model's own dynamic range
    assert found.summary()["bytes"] == len(found.content)
    assert "<table" in found._repr_html_()
    assert found.chart().to_dict()


@pytest.mark.slow
def test_a_plain_file_is_judged_before_the_next_candidate_is_made(search):
    told = []

    class Told(SearchProgress):
        def start(self, candidate, task):
            told.append(candidate.key)

        def judged(self, candidate, examples):
            told.append((candidate.key, examples))

    search(None, progress=Told())
    assert told[:2] == ["dynamic_range", ("dynamic_range", 800)]
    assert len(told) > 2
    assert "float32" not in told


@pytest.mark.slow
def test_the_held_out_part_is_predicted_for_judged_candidates_only(whole):
    directory, found = whole
    stored = (directory / FOLDER).rglob(f"*{HELD_OUT}*/**/*.parquet")
    keys = {path.parent.name.removeprefix("variant=") for path in stored}
    assert keys == {"dense", *found.judged}


@pytest.mark.slow
def test_the_report_shows_the_candidates_and_the_verdict(whole):
    directory, found = whole
    page = (directory / "report.html").read_text()
    for part in (found.judged_on, found.title, 'id="candidates"'):
        assert part in page


@pytest.mark.slow
def test_what_opens_the_directory_later_says_what_the_search_said(whole):
    directory, found = whole
    audit = StudyAudit.open(directory)
    verdict = audit.verdict()
    titles = audit.data.titles
    tested = found.frame().query("judged != ''")
    assert {*titles.values()} == {"baseline", *tested["title"]}
    assert titles[verdict.best] == titles[audit.data.store.judging.chosen] == found.title
    assert (audit.data.alpha, verdict.limits) == (found.verdict.alpha, found.limits)
    others = {key: one for key, one in verdict.outcomes.items() if key != verdict.best}
    assert "pass" not in others.values()  # these examples judge none of them
    advice = recommendation(audit, verdict)
    assert dict(advice.facts)["file"] == str(advice.path) == str(found.path)
    sizes = audit.summary.table.set_index("title")["bytes"]
    assert dict(sizes[tested["title"]]) == dict(zip(tested["title"], tested["bytes"], strict=True))


@pytest.mark.slow
def test_the_candidates_are_a_study_of_the_selection_part(whole, tmp_path):
    directory, found = whole
    store = open_store(shutil.copytree(directory / FOLDER, tmp_path / "copy"))
    made = found.frame().set_index("candidate")["top1"].dropna()
    for key, accuracy in made.items():
        assert store.predictions(key).accuracy() == accuracy
    assert store.missing() == ()
    held_out = pd.read_csv(directory / "judged.csv")["example"]
    assert not set(store.examples()["example"]) & set(held_out)
    assert found.chosen in write_report(StudyAudit.read(store)).read_text()


class Killed(BaseException):
    pass


@pytest.mark.slow
def test_a_search_killed_at_any_write_resumes_to_the_same_files(
    whole, search, tmp_path, monkeypatch
):
    directory, _ = whole
    left = 0

    def write(path, content, **further):
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed
        write_whole(path, content, **further)

    for module in (store, evaluations, search_report):
        monkeypatch.setattr(module, "write_whole", write)
    for kills in itertools.count():
        left = 1 + 4 * kills  # every life lasts longer
        with contextlib.suppress(Killed):
            search(tmp_path)
            break
    assert kills >= 3
    assert same_files(tmp_path, directory)


@pytest.mark.slow
def test_a_damaged_candidate_is_made_again(whole, search, tmp_path):
    directory, found = whole
    out = tmp_path / "out"
    shutil.copytree(directory, out)
    flatbuffer_path(out, found.chosen).write_bytes(b"damaged")
    (out / FOLDER / prediction_path("dense", 0, HELD_OUT)).write_bytes(b"damaged")
    search(out)
    assert same_files(out, directory)


@pytest.mark.slow
def test_when_the_budget_ends_the_best_so_far_is_judged_and_the_search_goes_on_later(
    whole, search, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(_Search, "_is_over", lambda self: bool(self._trials.by_key))
        found = search(out)
    assert found.chosen == "dynamic_range"
    assert "budget ended" in found.stopped
    reasons = found.frame().set_index("candidate")["reason"]
    assert reasons["channel-0.75-dynamic_range"] == "The budget ended before."
    later = search(out)
    assert later.chosen == whole[1].chosen
    assert later.judged == whole[1].judged  # the sequence goes on where it stopped


@pytest.fixture
def spoiled(monkeypatch):
    """By key, the number of classes that a candidate gets wrong on the examples that judge it."""
    wrong, predicted = {}, Judge.predicted

    def spoiled_predictions(self, part, key):
        after = predicted(self, part, key)
        labels = after.labels
        others = (labels + 1 + np.arange(len(labels)) % 3) % 4  # in no order of the classes right
        found = np.where(labels < wrong.get(key, 0), others, after.top1[0])
        names = {"class_names": CLASSES, "example_ids": after.example_ids}
        return Predictions.from_top1(labels, found, **names)

    monkeypatch.setattr(Judge, "predicted", spoiled_predictions)
    return wrong


@pytest.mark.slow
def test_each_sequence_ends_at_the_first_that_does_not_pass(whole, search, tmp_path, spoiled):
    out = shutil.copytree(whole[0], tmp_path / "out")
    pruned = whole[1].chosen
    spoiled["dynamic_range"] = 4
    found = search(out)
    assert (found.chosen, found.outcome, found.verdict.alpha) == (pruned, "pass", 0.025)
    assert found.judged == {"dynamic_range": "fail", pruned: "pass", "float32": "pass"}
    spoiled[pruned] = 3
    found = search(out)
    assert (found.chosen, found.outcome, found.verdict.alpha) == ("float32", "pass", 0.0025)
    assert found.judged_on.startswith("all 800 examples")
    assert found.notes[0].startswith("Judged at alpha 0.0025 of 0.05: ")
    spoiled["float32"] = 4
    none = search(out)
    assert (none.chosen, none.outcome) == (pruned, "fail")  # closer than the others
    assert none.judged == {"dynamic_range": "fail", pruned: "fail", "float32": "fail"}


@pytest.mark.slow
def test_images_that_calibrate_int8_judge_no_plain_file(data):
    examples = in_memory(as_dataset(data[0], "data", "test"), "data", CLASSES)
    parts = Parts.of(examples, 0.5, 0)
    calibrating, plain = set(parts.calibration.example_ids), set(parts.plain.example_ids)
    assert len(calibrating) == 100
    assert calibrating <= set(parts.selection.example_ids)
    assert plain == set(examples.example_ids) - calibrating
    assert (
        parts.in_words(plain=True) == "700 of the 800 examples: all but those that calibrate int8"
    )
    trained = Parts.of(examples, 0.5, 0, train=examples)
    assert trained.plain is examples
    frames = dataclasses.replace(examples, known_groups={CLUSTER: np.arange(800) // 5})
    parts = Parts.of(frames, 0.5, 0)
    assert not set(parts.plain.clusters) & set(parts.calibration.clusters)
    assert set(parts.held_out.example_ids) <= set(parts.plain.example_ids)


def test_examples_that_are_alone_in_their_class_go_to_either_part():
    labels = np.concatenate([np.arange(40), np.zeros(40, int)])
    names = tuple(map(str, range(40)))
    examples = Examples(labels[:, None], labels, class_names=names)
    data = in_memory(as_dataset(examples, "data", "test"), "data", names)
    parts = Parts.of(data, 0.5, 0)
    assert (parts.selection.num_examples, parts.held_out.num_examples) == (40, 40)
    alone = [(part.labels > 0).sum() for part in (parts.selection, parts.held_out)]
    assert min(alone) > 10
    assert sum(alone) == 39


@pytest.mark.slow
def test_a_budget_that_ends_during_training_gives_the_training_up(search, tmp_path, monkeypatch):
    maker = candidate_models.CandidateMaker
    ready, began = maker._trainer, []

    def trainer(self, *arguments):
        began.append(self)
        return ready(self, *arguments)

    monkeypatch.setattr(maker, "_trainer", trainer)
    monkeypatch.setattr(_Search, "_is_over", lambda _: bool(began))
    found = search(tmp_path / "out")
    reasons = found.frame().set_index("candidate")["reason"]
    assert reasons["channel-0.75-dynamic_range"] == "The budget ended while it was trained."
    assert not list((tmp_path / "out/candidates").rglob("*.keras"))
    for _ in range(2):
        assert_refused(
            r"model: got no candidate that could be tried \(The budget ended before.\)",
            search,
            tmp_path / "none",
            budget=1e-9,
        )
        assert {path.name for path in (tmp_path / "none").iterdir()} == {FOLDER}
        for name in RESULTS:  # as an earlier run would have left them
            (tmp_path / "none" / name).touch()


@pytest.mark.slow
def test_where_nothing_passes_no_file_ships_and_the_binding_limit_is_named(search, tmp_path):
    out = tmp_path / "out"
    found = search(out, train=None, limits=Limits(worst_class_drop_pp=0.5, size_bytes=1000))
    assert (found.outcome, found.exit_code, found.path) == ("fail", 1, None)
    assert not (out / "model.tflite").exists()
    assert json.loads((out / "verdict.json").read_text())["file"]["may_ship"] is False
    size, classes, images, smallest = found.needed
    assert size.startswith("Size on disk: ")
    assert classes.startswith("Drop of worst class (")
    assert "examples of each class judge; here 173 to 177 do." in images
    assert smallest == "No candidate keeps to the other limits, whatever its size."


@pytest.mark.slow
def test_files_are_judged_by_named_groups_too(search, data, tmp_path):
    """A group of few examples decides nothing: neither on the selection part nor on the held-out part."""
    examples = data[0]
    region = np.where(np.arange(len(examples.y)) % 40, "north", "south")
    grouped = dataclasses.replace(examples, groups={"region": region})
    limits = Limits(overall_drop_pp=4, worst_class_drop_pp=12, group_drop_pp=3)
    found = search(tmp_path / "a", data=grouped, train=None, limits=limits)
    assert found.outcome == "cannot judge"
    (check,) = (check for check in found.verdict.checks if check.name == "group_drop_pp")
    assert check.subject == "region: south"
    assert set(found.verdict.groups["group"]) == {"region: north", "region: south"}
    assert set(found.frame()["outcome"]) <= {"cannot judge", "fail"}
    loose = dataclasses.replace(limits, group_drop_pp=60.0)
    assert search(None, data=grouped, train=None, limits=loose).outcome == "pass"
    with pytest.raises(InputError, match=r"group_drop_pp: got 3\.0, expected None, or data with"):
        search(tmp_path / "b", limits=limits)


def test_without_training_data_and_without_a_directory(search, model):
    found = search(None, train=None)
    assert set(found.frame()["candidate"]) == {"dynamic_range", "float32"}
    assert found.directory is None
    assert found.path is None
    assert found.content[4:8] == b"TFL3"
    other = search(None, train=None, model=keras.saving.load_model(model))
    assert other.content == found.content


@pytest.mark.slow
def test_a_candidate_that_cannot_be_converted_is_in_the_table_with_the_reason(search, monkeypatch):
    real = Conversions.file
    reason = ConversionError("model", "a layer", "another layer")

    def file(conversions, kind, **settings):
        if kind == "dynamic_range":
            raise reason
        return real(conversions, kind, **settings)

    monkeypatch.setattr(Conversions, "file", file)
    found = search(None, train=None)
    table = found.frame().set_index("candidate")
    assert table.loc["dynamic_range", ["outcome", "reason"]].tolist() == [NO_FILE, str(reason)]
    console = Console(file=io.StringIO(), width=120)
    console.print(_table(found))
    assert "nan" not in console.file.getvalue()


@pytest.mark.slow
def test_a_pruned_model_that_fails_by_itself_is_not_quantized(search, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "tfaudit.extensions.search.candidates.LEVELS", {"channel": (0.98,), "weight": ()}
    )
    hardly = Training(epochs=1, learning_rate=1e-9)
    limits = Limits(worst_class_drop_pp=8)
    table = search(tmp_path / "out", training=hardly, limits=limits).frame().set_index("candidate")
    pruned = table[table.index.str.startswith("channel")]
    alone = pruned[~pruned.index.str.contains("distillation")]
    assert alone["reason"].str.startswith("Fails before it is quantized: ").all()
    assert pruned.drop(alone.index)["reason"].str.endswith(" is too far from passing.").all()
    assert not list((tmp_path / "out/candidates/members").glob("channel*/*/*.tflite"))


def changed_data(data):
    x = data.x.copy()
    x[0, 0] += 1
    return dataclasses.replace(data, x=x)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "changed"),
    [
        ("data", lambda data: {"data": changed_data(data)}),
        ("training data", lambda _: {"train": Examples(*blobs(799, 1))}),
        ("limits", lambda _: {"limits": Limits(overall_drop_pp=4.5)}),
        ("model", lambda _: {"model": classifier(epochs=0)}),
        ("split", lambda _: {"seed": 1}),
        ("settings", lambda _: {"alpha": 0.1}),
    ],
)
def test_a_search_with_something_else_is_refused(whole, search, data, what, changed):
    directory, _ = whole
    before = files_of(directory)[0]
    message = f"out: got .* of a search that differs in its {what}, expected"
    assert_refused(message, search, directory, **changed(data[0]))
    assert files_of(directory)[0] == before


ONE = Examples(np.eye(8, dtype="float32")[:5], [0, 0, 1, 2, 3], class_names=CLASSES)
OTHERS = Examples(*blobs(40, 1), class_names=("ant", "bee", "cow", "dog"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"model": "net.tflite"},
            "model: got 'net.tflite', expected a .keras file: a flatbuffer cannot be compressed",
        ),
        ({"model": "none.keras"}, "model: got none.keras, which does not exist"),
        ({"budget": 0}, "budget: got 0, expected seconds above 0"),
        ({"limits": {"flips": 0.1}}, "limits: got 'dict', expected tfaudit.Limits"),
        (
            {"limits": Limits(corruption_drop_pp=2)},
            "corruption_drop_pp: got 2.0, expected None: a search has no corrupted images",
        ),
        ({"data": ONE}, "data: got 1 example of bee, cat, dog, expected 2 or more of every class"),
        (
            {"data": (np.zeros((40, 7), "float32"), np.arange(40) % 4)},
            r"images: got shape \(1, 7\)",
        ),
        (
            {"data": Examples(*blobs(40, 1), class_names="ab")},
            r"data: got 2 classes \(a, b\), expected 4, as the model has",
        ),
        ({"train": OTHERS}, "train: got class 2 called 'cow', expected 'cat', as in the data"),
        ({"train": (np.zeros((4, 8), "float32"), [0, 1, 2, 9])}, "train: got .*label 9"),
        (
            {"model": classifier(epochs=0, units=4)},
            "model: got a baseline by which the gate cannot judge: The baseline is right on .* expected one that",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_input_is_told_in_one_line_before_any_work(
    search, tmp_path, monkeypatch, changes, message
):
    monkeypatch.setattr(candidate_models.CandidateMaker, "flatbuffer", None)
    assert_refused(message, search, tmp_path / "out", **changes)
    assert not (tmp_path / "out/candidates.csv").exists()


def test_a_directory_in_use_is_named_with_the_command_that_uses_it(search, tmp_path):
    message = r"directory: got .*out.candidates, in use by another `tfaudit compress`, expected a directory that is not"
    with lock(tmp_path / "out/candidates"), pytest.raises(InputError, match=message):
        search(tmp_path / "out")
    assert not (tmp_path / "out/candidates/study.json").exists()


def test_a_directory_with_a_study_is_not_touched(search, tmp_path):
    make_study(tmp_path / "study")
    before = sorted(tmp_path.rglob("*"))
    assert_refused(
        r"out: got .*, which holds a study that `tfaudit compress` did not write",
        search,
        tmp_path / "study",
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_of_the_users_is_not_replaced_by_the_result(search, tmp_path):
    file = tmp_path / "model.tflite"
    file.write_bytes(b"TFL3")
    assert_refused(r"out: got .*, which holds model.tflite and no search", search, tmp_path)
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.slow
@pytest.mark.parametrize("name", REMEDIES)
def test_a_remedied_model_is_pruned_and_shrunk_as_its_control(maker, training, name):
    pruned = Preparation(dataclasses.replace(channel_pruning(0.75, ["hidden"]), remedy=name))
    assert maker.predictions(pruned).accuracy() > 0.9
    assert maker.is_trained(pruned)
    assert maker._opened(pruned).get_layer("hidden").units == 128


@pytest.mark.slow
@pytest.mark.parametrize("remedy", first_and_nightly([(), *REMEDIES]))
def test_a_trained_model_has_the_statistics_of_its_own_activations(
    maker_of, training, tmp_path, remedy
):
    path = tmp_path / "net.keras"
    normalised().save(path)
    preparation = Preparation(Pruned(0.5, treatment="finetune", remedy=remedy))
    made = maker_of(path, training=Training(epochs=1, batch_size=150), seed=5)
    model = made._opened(preparation)
    found = model.get_weights()
    seed = made._seed_of(preparation)
    # 800 examples end with a short batch
    batches = training_batches(training, batch_size=150, seed=seed).take(30)
    full = [inputs for inputs, _ in batches if len(inputs) == 150][:20]
    [norm] = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
    for i, inputs in enumerate(full, start=1):
        norm.momentum = 1 - 1 / i
        model(inputs, training=True)
    for mine, expected in zip(found, model.get_weights(), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("content", [b"{}", b"[]", b"3", b'{"complete": true}', b"{", b""])
def test_what_layers_cost_is_measured_again_if_its_file_is_damaged(maker, tmp_path, content):
    folder = maker._store
    measured = {"rows": [{"layer": "a"}], "bytes": 3, "complete": True}
    folder.save_sensitivity(measured)
    assert folder.sensitivity() == measured
    (tmp_path / "candidates/sensitivity_int8.json").write_bytes(content)
    assert folder.sensitivity() == {"rows": [], "bytes": 0, "complete": False}


@pytest.mark.slow
def test_the_model_is_loaded_and_the_data_are_read_once(search, model, data, tmp_path, monkeypatch):
    read = []

    def elements():
        read.append("data")
        yield from zip(data[0].x, data[0].y, strict=True)

    load = mock.Mock(side_effect=keras.saving.load_model)
    monkeypatch.setattr(keras.saving, "load_model", load)
    kinds = tuple(tf.TensorSpec(part.shape[1:], part.dtype) for part in (data[0].x, data[0].y))
    search(tmp_path, data=tf.data.Dataset.from_generator(elements, output_signature=kinds))
    assert [call.args[0] for call in load.call_args_list].count(model) == 1
    assert read == ["data"]
