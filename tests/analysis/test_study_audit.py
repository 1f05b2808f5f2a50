"""Audits of a study are computed once, cached, and computed again where what they depend on has changed."""

import shutil
import threading

import numpy as np
import pandas as pd
import pytest

import tfaudit.analysis.study_audit as study_audit_module
from tests.builders.corrupted_studies import corrupted_study, evaluate
from tests.builders.equality import require_equal
from tests.builders.studies import WRITERS, before_and_after, change_images, make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import StudyData
from tfaudit.audits.chance.chance import chance
from tfaudit.audits.classes.classes import CENTERINGS, class_impact, corrected_together
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.audits.groups.groups import groups
from tfaudit.audits.prediction_counts.prediction_counts import count_predictions
from tfaudit.errors import InputError
from tfaudit.outlets.sections.order import study_sections
from tfaudit.store.store import Store, open_store

FEW = {"permutations": 20}


def read_few(store):
    """The audit of a study with few permutations."""
    return StudyAudit.read(store, **FEW)


def among_all(store, audit, **options):
    """What an audit finds on the classes of int8, corrected for those of the other variant, too."""
    keys = [key for key in store.variants if key != "dense"]
    found = {key: audit(*before_and_after(store, key), **options) for key in keys}
    return corrected_together(found)["int8"]


@pytest.fixture
def read(monkeypatch):
    """Names of the populations that are read."""
    found, real = [], Store.predictions

    def predictions(self, variant, split="test", **options):
        found.append((variant, split))
        return real(self, variant, split, **options)

    monkeypatch.setattr(Store, "predictions", predictions)
    return found


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("grouped"), groups=WRITERS)


def test_it_holds_what_the_audits_find(grouped):
    study_audit = read_few(grouped)
    before, after = before_and_after(grouped, "int8")
    assert study_audit.data.compressed_keys == ("magnitude-0.9", "int8")
    assert list(study_audit.data.titles) == ["dense", "magnitude-0.9", "int8"]
    for centering in CENTERINGS:
        require_equal(
            study_audit.centred_classes("int8", centering=centering),
            among_all(grouped, class_impact, centering=centering),
        )
    require_equal(study_audit.classes("int8"), among_all(grouped, class_impact))
    require_equal(study_audit.exemplars("int8"), exemplars(before, after))
    require_equal(study_audit.chance("int8"), chance(before, after, paired=True, **FEW))
    require_equal(study_audit.counts("dense"), count_predictions(before))
    writers = grouped.examples()["writer"]
    expected = groups(before, after, grouped.examples()["series"], individuals=writers)
    require_equal(study_audit.groups("int8", column="series"), expected)
    assert study_audit.data.individuals.name == "writer"
    trends = study_audit.result("trends", "int8")
    properties = [each.property for each in trends]  # squares of one grey have no tilt
    assert properties == ["mean activation", "distance from the class's mean image"]


def test_kinds_of_a_class_are_groups_in_any_number_and_writers_are_individuals(
    tmp_path_factory, monkeypatch
):
    monkeypatch.setattr("tfaudit.analysis.study_data.MANY", 8)
    labels = make_study(tmp_path_factory.mktemp("labels")).examples(images=False)["label"]
    kinds = [f"{label} {'large' if i % 2 else 'small'}" for i, label in enumerate(labels)]
    writers = [f"writer {i // 7 % 10}" for i in range(len(labels))]
    facts = pd.DataFrame(
        {"kind": kinds, "writer": writers, "number": labels * 100 + np.arange(len(labels)) % 2}
    )
    store = make_study(tmp_path_factory.mktemp("kinds"), groups=facts)
    data = read_few(store).data
    assert facts["kind"].nunique() > 8
    assert (data.group_columns, data.individuals.name) == (["kind"], "writer")
    monkeypatch.setattr("tfaudit.analysis.study_data.LEAST_OF_KIND", 21)
    data = read_few(store).data
    assert (data.group_columns, data.individuals.name) == ([], "kind")


@pytest.mark.slow
def test_once_prepared_no_population_is_read_again(grouped, read):
    told = []
    read_few(grouped).prepare(lambda share, words: told.append((share, words)))
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    assert told[-1][0] == 1
    assert all(
        any(title in words for _, words in told)
        for title in ("dense", "magnitude 90 %", "fixed-point int8")
    )
    assert sorted(read) == sorted({*read})  # each once
    read.clear()
    study_audit = StudyAudit.read(open_store(grouped.directory), **FEW)
    study_audit.prepare()
    assert study_sections(study_audit)
    assert not read


@pytest.mark.slow
def test_the_verdict_of_the_last_limits_is_cached(tmp_path, monkeypatch):
    store = make_study(tmp_path)
    first = read_few(store).verdict()
    judged = []
    real = study_audit_module.study_verdict
    monkeypatch.setattr(
        study_audit_module,
        "study_verdict",
        lambda *given, **options: judged.append(given[2]) or real(*given, **options),
    )
    require_equal(read_few(store).verdict(), first)
    assert not judged
    strict = Limits(overall_drop_pp=0.1)
    assert read_few(store).verdict(strict).limits == strict
    require_equal(read_few(store).verdict(), first)
    shutil.rmtree(store.directory / "members/int8/000")
    assert read_few(store).verdict().missing
    assert judged == [strict, DEFAULT_LIMITS, DEFAULT_LIMITS]


def kept(store):
    return {
        path.name.rsplit(".", 2)[0]: path.name for path in (store.directory / "audit").iterdir()
    }


def changed(store, before):
    return {name for name, file in kept(store).items() if before[name] != file}


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """The directory of an audited study with one member too few."""
    place = tmp_path_factory.mktemp("audited") / "study"
    store = make_study(place, members=4, missing={("int8", 3)}, groups=WRITERS)
    read_few(store).prepare()
    return place


@pytest.fixture
def prepared(audited, tmp_path):
    """A copy of the audited study, its audit, and what was kept."""
    store = open_store(shutil.copytree(audited, tmp_path / "study"))
    study_audit = read_few(store)
    assert study_audit.data.fingerprint
    return store, study_audit, kept(store)


def read_anew(store, old, **options):
    """The audit of a study that is another one than before."""
    study_audit = StudyAudit.read(store, **FEW | options)
    assert study_audit.data.fingerprint != old.data.fingerprint
    return study_audit


@pytest.mark.slow
def test_a_member_that_is_added_makes_its_variant_anew(prepared, tmp_path):
    store, old, before = prepared
    whole = make_study(tmp_path / "whole", members=4, groups=WRITERS)
    path = store.prediction_path("int8", 3)
    store.save_member("int8", 3, {path: whole.read(path)}, {"bytes": 3_333})
    study_audit = read_anew(store, old)
    study_audit.prepare()
    require_equal(study_audit.classes("int8"), among_all(store, class_impact))
    assert changed(store, before) == {name for name in before if "int8" in name.split(".")}
    assert len(kept(store)) == len(list((store.directory / "audit").iterdir()))  # one file a result


@pytest.mark.slow
def test_another_level_makes_the_tests_anew_and_not_the_counts(prepared):
    store, old, before = prepared
    study_audit = read_anew(store, old, alpha=0.2)
    study_audit.prepare()
    assert study_audit.classes("int8").alpha == 0.2
    assert changed(store, before) == {
        n
        for n in before
        if n.split(".")[1] not in ("counts", "unfairness", "distortion", "smallest_margins")
    }


def test_groups_that_were_brought_along_count(store):
    one = StudyAudit.read(store, groups=WRITERS, **FEW)
    swapped = WRITERS.assign(series=WRITERS["series"][::-1].to_numpy())
    other = StudyAudit.read(store, groups=swapped, **FEW)
    assert (
        len({one.data.fingerprint, other.data.fingerprint, StudyData(store, **FEW).fingerprint})
        == 3
    )
    before, after = before_and_after(store, "int8")
    for study_audit, table in ((one, WRITERS), (other, swapped)):
        expected = groups(
            before, after, table["series"].rename("series"), individuals=table["writer"]
        )
        require_equal(study_audit.groups("int8", column="series"), expected)


@pytest.mark.slow
def test_a_file_cut_short_is_noticed(prepared):
    store, old, _ = prepared
    path = store.directory / store.prediction_path("int8", 0)
    path.write_bytes(path.read_bytes()[:-9])
    study_audit = read_anew(store, old)
    with pytest.raises(InputError, match="does not match its checksum"):
        study_audit.exemplars("int8")


def test_images_that_were_replaced_count(tmp_path):
    store = corrupted_study(tmp_path)
    old = {split: StudyData(store, split) for split in ("test", "fog-3")}
    before = {
        split: (data.fingerprints.study, data.fingerprints.examples) for split, data in old.items()
    }
    change_images(store, lambda images: [*images[:-1], images[0]])
    for split in old:  # pictures under a computed condition are the test set's
        data = StudyData(store, split)
        assert not {data.fingerprints.study, data.fingerprints.examples} & {*before[split]}
        data.require_same_examples()
        with pytest.raises(
            InputError,
            match=rf"'{split}' with examples that changed after they were first read.*; read the study again",
        ):
            old[split].require_same_examples()


@pytest.mark.slow
def test_an_evaluation_that_is_added_counts(tmp_path):
    store = corrupted_study(tmp_path, without={("magnitude-0.9", "fog 1")})
    old = read_few(store)
    assert len(old.data.conditions) == 3
    old.robustness("int8")
    (condition,) = set(store.study.conditions) - set(old.data.conditions)
    evaluate(store, condition, "magnitude-0.9", range(4))
    study_audit = read_anew(store, old)
    assert study_audit.robustness("int8").conditions == tuple(store.study.conditions)


def test_threads_compute_once(tmp_path, read):
    study_audit = StudyAudit.read(make_study(tmp_path), **FEW)
    options = {"args": ("int8",), "kwargs": {"centering": "none"}}
    threads = [threading.Thread(target=study_audit.centred_classes, **options) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read) == [("dense", "test"), ("int8", "test"), ("magnitude-0.9", "test")]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda m: m.counts("int4"),
            r"variant: got 'int4', expected 'dense', 'magnitude-0.9' or 'int8'",
        ),
        (lambda m: m.exemplars("dense"), r"variant: got 'dense', expected magnitude-0.9, int8"),
        (
            lambda m: m.model_pair("int8"),
            r"variant: got 'int8', expected none: none allows model_pair",
        ),
        (
            lambda m: m.centred_classes("int8", centering="../x"),
            r"centering: got '../x', expected 'member",
        ),
        (lambda m: m.groups("int8", column="age"), r"column: got 'age', expected series"),
        (lambda m: m.robustness("int8"), r"variant: got 'int8', expected none"),
    ],
)
def test_what_there_is_not(grouped, ask, message):
    with pytest.raises(InputError, match=message):
        ask(read_few(grouped))


def test_missing_members_are_noted(tmp_path):
    store = make_study(tmp_path, missing={("int8", 0), ("int8", 2)})
    audit = StudyAudit.read(store).summary
    expected = (
        "fixed-point int8: 2 of 4 members are complete; 2 failed (member.json holds the traceback)."
    )
    assert audit.notes[0] == expected
    assert list(audit.frame()["members"]) == [4, 4, 2]


def test_without_a_baseline(tmp_path):
    store = make_study(tmp_path, members=1, missing={("dense", 0)})
    with pytest.raises(InputError, match="no complete dense member"):
        StudyAudit.read(store)


@pytest.mark.slow
def test_other_permutations_and_seeds_count(prepared):
    store, old, _ = prepared
    for options in ({"permutations": 30}, {"permutations": 20, "seed": 1}):
        study_audit = read_anew(store, old, **options)
        expected = chance(*before_and_after(store), **options)
        require_equal(study_audit.chance("magnitude-0.9"), expected)
