"""What raters answer: against plain dictionaries, many writers at once, a writer killed, files that are not ours."""

import contextlib
import itertools
import multiprocessing
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import hypothesis
import hypothesis.strategies as some
import numpy as np
import pandas as pd
import pytest

from tests.builders.nightly import and_nightly
from tests.builders.populations import population
from tests.builders.refusals import assert_refused
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.survey.questions import CATEGORIES, QUESTIONS
from tfaudit.audits.survey.sample import survey_sample
from tfaudit.audits.survey.survey import survey
from tfaudit.errors import InputError
from tfaudit.store.ratings.answers import Answers, open_answers
from tfaudit.store.ratings.database import AnswerFile
from tfaudit.store.ratings.names import rater_name

KEYS = [question.key for question in QUESTIONS]
FOUND = exemplars(population(1), population(2, hurt=[3]))
IDS = [f"test-{i}" for i in range(200)]
ALL = dict.fromkeys(KEYS, 1)
SEAL = "of these examples"


def begun(answers, *, n=6, seed=3, variant="int8", split="test", examples=SEAL, found=FOUND):
    sample = survey_sample(found, n, seed=seed)
    return answers.begin(
        sample, variant=variant, split=split, seed=seed, examples=examples, example_ids=IDS
    )


IMAGES = [IDS[i] for i in survey_sample(FOUND, 6, seed=3).sheet["example"]]
"""What study 1 shows."""


@pytest.fixture
def answers(tmp_path):
    return open_answers(tmp_path)


@pytest.fixture
def rated(answers, tmp_path):
    """A study of six images, the first of which "ann" has rated; statistics that SQLite itself adds are no harm."""
    begun(answers)
    answers.record(1, "ann", IMAGES[0], ALL, ["atypical"])
    change(tmp_path, "ANALYZE")
    return answers


def change(directory, script):
    """Change the file as a flipped bit would: no constraint is checked, no checksum follows."""
    with contextlib.closing(sqlite3.connect(directory / "answers.sqlite")) as database:
        database.executescript(
            f"PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; {script}"
        )


def test_nothing_is_written_before_a_study_begins(answers, tmp_path):
    assert answers.studies("test", SEAL).empty
    assert answers.labels("test", SEAL).empty
    assert not list(tmp_path.iterdir())


def test_a_sheet_shows_what_was_drawn_and_no_more(answers):
    sample = survey_sample(FOUND, 6, seed=3)
    sheet = answers.sheet(begun(answers))
    assert list(sheet) == ["example", "position", "label_1", "label_2", "label_3"]
    assert list(sheet["position"]) == list(sample.sheet["example"])
    assert list(sheet["example"]) == [IDS[i] for i in sheet["position"]]
    for label in ("label_1", "label_2", "label_3"):
        assert list(sheet[label]) == list(sample.sheet[label])


def test_the_same_arguments_find_the_study(answers):
    study = begun(answers)
    assert begun(answers) == study
    others = {
        begun(answers, seed=4),
        begun(answers, n=10),
        begun(answers, variant="x"),
        begun(answers, split="train"),
    }
    assert len({study, *others}) == 5
    assert answers.studies("test", SEAL)["images"].tolist() == [6, 6, 10, 6]


def test_studies_of_examples_that_were_replaced_are_kept_and_not_shown(rated):
    answers = rated
    new = begun(answers, examples="others")
    assert new != 1
    assert answers.studies("test", "others")["study"].tolist() == [new]
    assert answers.studies("test", "others")["raters"].tolist() == [0]
    assert answers.labels("test", "others").empty
    assert [answers.num_outdated("test", seal) for seal in ("others", SEAL, "third")] == [1, 1, 2]
    assert answers.num_outdated("train", "others") == 0
    assert begun(answers) == 1  # should they come back
    assert set(answers.labels("test", SEAL)["example"]) == {IMAGES[0]}


def test_a_study_stays_as_drawn_when_members_are_added(answers):
    study = begun(answers)
    assert answers.shows_sample(study, survey_sample(FOUND, 6, seed=3))
    sheet = answers.sheet(study)
    grown = exemplars(population(1, members=9), population(2, hurt=[3], members=9))
    assert begun(answers, found=grown) == study
    assert not answers.shows_sample(study, survey_sample(grown, 6, seed=3))
    pd.testing.assert_frame_equal(answers.sheet(study), sheet)


def test_one_person_is_one_rater_however_typed(answers):
    study = begun(answers)
    answers.record(study, "Zoë Straße", IMAGES[0], ALL)
    answers.record(study, " ZOE\u0308 STRASSE ", IMAGES[1], ALL)
    raters = answers.progress(study)[["rater", "complete", "images"]]
    assert raters.values.tolist() == [["Zoë Straße", 2, 6]]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("  ", "rater: got a name of 0 characters, expected 1 to 60 characters"),
        ("a" * 61, "rater: got a name of 61 characters"),
        ("a\nb", r"rater: got 'a\\nb', expected printable characters"),
        ("\u202eevil", "expected printable characters"),
    ],
)
def test_names_that_are_refused(name, message):
    assert_refused(message, rater_name, name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda a: a.record(1, "ann", IMAGES[0], {"colour": 1}),
            "answers: got 'colour', expected 'accurate_label', 'single",
        ),
        (
            lambda a: a.record(1, "ann", IMAGES[0], {"typical": 2}),
            "typical: got 2, expected 0, 1 or None",
        ),
        (
            lambda a: a.record(1, "ann", IMAGES[0], {}, ["funny"]),
            "categories: got 'funny', expected one of abstract",
        ),
        (
            lambda a: a.record(1, "ann", "test-x", ALL),
            "example: got 'test-x', expected an image of study 1",
        ),
        (
            lambda a: a.record(7, "ann", IMAGES[0], ALL),
            r"study: got 7, expected a study that has begun \(1\)",
        ),
        (lambda a: a.sheet(7), "study: got 7"),
        (lambda a: a.next_place(7, "ann"), "study: got 7"),
        (lambda a: a.answers(7), "study: got 7"),
        (lambda a: begun(a, seed=2**63), "seed: got 9223372036854775808, expected a number from 0"),
    ],
)
def test_refusals(rated, call, message):
    assert_refused(message, call, rated)


RATERS = ("ann", "👩\u200d🔬 <script>", "'; DROP TABLE answers; --", "a,b", "*x*")
NOTED = some.tuples(
    some.sampled_from(RATERS),
    some.integers(0, 5),
    some.dictionaries(some.sampled_from(KEYS), some.sampled_from([0, 1, None])),
    some.none() | some.sets(some.sampled_from(list(CATEGORIES))),
)


@pytest.mark.slow
@hypothesis.settings(max_examples=25)
@hypothesis.given(some.lists(NOTED, max_size=25))
def test_as_dictionaries_would_keep_it(tmp_path_factory, records):
    answers = open_answers(tmp_path_factory.mktemp("kept"))
    study, images = begun(answers), IMAGES
    said, chosen = defaultdict(dict), defaultdict(set)
    for rater, place, values, categories in records:
        image = images[place]
        answers.record(study, rater, image, values, categories)
        said[rater, image].update(values)
        if categories is not None:
            chosen[rater, image] = categories
    for rater, image in itertools.product(RATERS, images):
        given = answers.of_image(study, rater, image)
        assert given.answers == said[rater, image]
        names = [name for name in CATEGORIES if name in chosen[rater, image]]
        assert list(given.categories) == names
    assert_tells(answers, study, said)


def assert_tells(answers, study, said):
    """What is told of all answers is what a dictionary of the answers by rater and image holds."""
    for rater in RATERS:
        open_places = [i for i, image in enumerate(IMAGES) if len(said[rater, image]) < 6]
        assert answers.next_place(study, rater) == (open_places[0] if open_places else None)
    rated = {pair: values for pair, values in said.items() if values}
    complete = {rater: sum(len(said[rater, image]) == 6 for image in IMAGES) for rater, _ in rated}
    assert dict(answers.progress(study)[["rater", "complete"]].values) == complete
    table = answers.answers(study).set_index(["rater", "example"])[KEYS]
    assert {pair: row.dropna().to_dict() for pair, row in table.iterrows()} == {
        pair: {key: value for key, value in values.items() if value is not None}
        for pair, values in rated.items()
    }


def test_the_analysis_is_that_of_the_same_answers_by_hand(answers, rng):
    study, sample = begun(answers, n=40), survey_sample(FOUND, 40, seed=3)
    rows = []
    images = answers.sheet(study)["example"]
    for rater in ("ann", "bob", "cem"):
        for (place, image), is_pie in zip(images.items(), sample.key["is_pie"], strict=True):
            shares = [0.6 - 0.3 * is_pie, 0.3 + 0.3 * is_pie, 0.1]
            values = dict(zip(KEYS, rng.choice([0, 1, None], 6, p=shares), strict=True))
            if place % 7:
                answers.record(study, rater, image, values)
                rows.append({"rater": rater, "example": image, "is_pie": is_pie} | values)
    found, expected = survey(answers.answers(study)), survey(pd.DataFrame(rows))
    pd.testing.assert_frame_equal(found.frame(), expected.frame())
    assert (found.raters, found.examples, found.notes) == (
        expected.raters,
        expected.examples,
        expected.notes,
    )
    assert found.frame()["pies_judged"].min() > 5


def test_labels_of_images_over_all_studies(answers):
    first, second = begun(answers), begun(answers, variant="pruned")
    image = answers.sheet(first)["example"][0]
    twice = set(answers.sheet(first)["example"]) & set(answers.sheet(second)["example"])
    assert image in twice
    answers.record(
        first, "ann", image, {"corrupted": 1, "abstract": 1, "typical": None}, ["atypical"]
    )
    answers.record(first, "bob", image, {"corrupted": 1, "abstract": 0})
    answers.record(second, "cem", image, {"corrupted": 0}, ["atypical"])
    time.sleep(0.002)
    answers.record(second, "bob", image, {"abstract": 1})  # has thought better of it
    table = answers.labels("test", SEAL)
    assert table.set_index(["kind", "label"])[["raters", "judged"]].T.to_dict("list") == {
        ("attribute", "abstract representation"): [2, 2],
        ("attribute", "corrupted image"): [2, 3],
        ("category", "atypical"): [2, 3],
    }
    assert set(table["example"]) == {image}
    assert answers.labels("train", SEAL).empty


def rate(directory, rater, study, images):
    for image in images:
        open_answers(directory).record(study, rater, image, ALL)


@pytest.mark.slow
def test_two_processes_and_threads_write_at_once(answers, tmp_path):
    study = begun(answers, n=40)
    images = list(answers.sheet(study)["example"])
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, spawn) as processes, ThreadPoolExecutor(2) as threads:
        pools = {"ann": processes, "bob": processes, "cem": threads, "dan": threads}
        writers = [
            pool.submit(rate, tmp_path, name, study, images * 2) for name, pool in pools.items()
        ]
        for writer in writers:
            writer.result()
    progress = answers.progress(study)[["rater", "complete"]]
    assert progress.values.tolist() == [[name, 40] for name in pools]


@pytest.fixture
def at_once():
    """A function that calls another in 12 threads, which take turns after every few instructions."""

    def results(call):
        with ThreadPoolExecutor(12) as threads:
            return list(threads.map(lambda _: call(), range(12)))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield results
    sys.setswitchinterval(before)


@pytest.mark.parametrize("attempt", range(10))
def test_many_begin_at_once(tmp_path, at_once, attempt):
    assert at_once(lambda: begun(open_answers(tmp_path))) == [1] * 12


def test_a_name_is_taken_by_one_of_those_who_come_at_the_same_moment(tmp_path, at_once):
    study = begun(open_answers(tmp_path))
    told = at_once(lambda: open_answers(tmp_path).join(study, " Ann "))
    assert sorted(told) == [False] * 11 + [True]
    assert open_answers(tmp_path).join(study, "bob")


def test_what_was_taken_survives_a_kill(answers, tmp_path):
    study = begun(answers, n=60)
    images = answers.sheet(study)["example"]
    said, writer = os.pipe()
    child = os.fork()
    if child == 0:
        for image in images:
            answers.record(study, "ann", image, ALL, ["atypical"])
            os.write(writer, b".")
        os._exit(0)
    os.close(writer)
    taken = len(os.read(said, 1))
    while taken < 10:
        taken += len(os.read(said, 100))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(said, 100):
        taken += len(more)
    os.close(said)
    kept = answers.next_place(study, "ann")
    assert taken <= kept <= taken + 1
    frame = answers.answers(study)
    assert frame[KEYS].notna().all(axis=None)
    assert (frame["categories"] == "atypical").all()
    with contextlib.closing(sqlite3.connect(tmp_path / "answers.sqlite")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    answers.record(study, "ann", images[kept], ALL)


@pytest.mark.usefixtures("rated")
def test_a_locked_file_is_one_line(tmp_path):
    hasty = Answers(AnswerFile(tmp_path, patience=0.05))
    with contextlib.closing(
        sqlite3.connect(tmp_path / "answers.sqlite", isolation_level=None)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        assert_refused(
            r"answers: .*answers\.sqlite, which another program locks .*try again",
            hasty.record,
            1,
            "ann",
            IMAGES[1],
            ALL,
        )
        assert hasty.next_place(1, "ann") == 1  # readers go on
    hasty.record(1, "ann", IMAGES[1], ALL)


def patched(directory, start, content):
    """Write bytes into the file of answers."""
    place = directory / "answers.sqlite"
    stored = bytearray(place.read_bytes())
    stored[start : start + len(content)] = content
    place.write_bytes(stored)


def replaced(directory, content):
    (directory / "answers.sqlite").write_bytes(content)


def of_another_program(directory):
    (directory / "answers.sqlite").unlink()
    change(directory, "CREATE TABLE theirs (x)")


FORGET = "CREATE TRIGGER forget AFTER INSERT ON answers BEGIN DELETE FROM answers; END"
TORN = r"is damaged[^\n]*; move it away to start from scratch"
ADDED = "holds what tfaudit did not make: "


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda place: replaced(place, b"no database" * 500), "is not an SQLite"),
        (lambda place: replaced(place, b"SQLite format 3\0" + bytes(range(256)) * 16), "is "),
        (of_another_program, "is another program's SQLite file"),
        (lambda place: change(place, "PRAGMA application_id = 7"), "is another program's"),
        (
            lambda place: change(place, "PRAGMA user_version = 1"),
            "has the format 1, expected the format 2",
        ),
        (
            lambda place: change(place, "PRAGMA user_version = 3"),
            "has the format 3, expected the format 2",
        ),
        (
            lambda place: patched(place, 44, b"\0\0\0\x09"),
            r"is damaged \(unsupported file format\), expected ",
        ),
        (lambda place: patched(place, 4096, b"\xff" * 60_000), TORN),
        (lambda place: change(place, "DROP TABLE raters"), TORN),
        (lambda place: change(place, FORGET), f"{ADDED}trigger 'forget', expected"),
        (
            lambda place: change(place, "CREATE VIEW everybody AS SELECT * FROM membership"),
            f"{ADDED}view 'everybody', expected",
        ),
        (lambda place: change(place, "CREATE TABLE other (a)"), f"{ADDED}table 'other', expected"),
        (
            lambda place: change(place, "CREATE INDEX shouted ON raters (upper(name))"),
            f"{ADDED}index 'shouted', expected",
        ),
    ],
)
def test_a_file_that_is_not_as_tfaudit_made_it_is_one_line_and_left_alone(
    rated, tmp_path, spoil, message
):
    spoil(tmp_path)
    before = (tmp_path / "answers.sqlite").read_bytes()
    for call in (
        lambda: rated.answers(1),
        lambda: rated.studies("test", SEAL),
        lambda: rated.record(1, "bob", IMAGES[0], ALL),
        lambda: begun(rated, seed=9),
    ):
        assert_refused(rf"answers: got [^\n]*sqlite, which {message}[^\n]*$", call)
    assert (tmp_path / "answers.sqlite").read_bytes() == before


def content(answers):
    """All that is read of the studies and their raters, as text."""
    studies = answers.studies("test", SEAL)
    tables = [studies, answers.labels("test", SEAL)]
    for study in studies["study"]:
        tables += [answers.sheet(study), answers.progress(study), answers.answers(study)]
    return "".join(table.to_csv() for table in tables)


def use(answers):
    """All that pages and reports ask for."""
    studies, labels = answers.studies("test", SEAL), answers.labels("test", SEAL)
    assert {*labels["kind"]} <= {"attribute", "category"}
    for study in studies["study"]:
        images = answers.sheet(study)["example"]
        assert answers.next_place(study, "ann") is not None
        assert set(answers.progress(study)) == {"rater", "complete", "images", "last"}
        assert set(KEYS) < set(answers.answers(study))
        for image in images[:2]:
            answers.of_image(study, "ann", image)
            answers.record(study, "eve", image, ALL, ["atypical"])
    begun(answers, n=6, seed=4)


DAMAGED = r"answers: got .*answers\.sqlite, (which (is|has|holds|cannot be)|whose [^\n]* not match) [^\n]+$"


@pytest.mark.slow
@pytest.mark.parametrize("seed", and_nightly(range(5), range(5, 400)))
def test_a_damaged_byte_or_end_is_one_line_or_does_no_harm(answers, tmp_path, seed):
    random, place = np.random.default_rng(seed), tmp_path / "answers.sqlite"
    study = begun(answers)
    for image in IMAGES[:3]:
        answers.record(study, "ann", image, ALL, ["atypical"])
    whole = content(answers)
    stored = np.frombuffer(place.read_bytes(), np.uint8).copy()
    if seed % 4:
        stored[random.choice(np.flatnonzero(stored))] ^= 1 << random.integers(8)
    else:
        stored = stored[: random.integers(1, len(stored))]
    place.write_bytes(stored)
    said = None
    try:
        assert content(answers) == whole
        use(answers)
    except InputError as problem:
        said = str(problem)
    assert said is None or re.fullmatch(f"({DAMAGED})|study: .*|example: .*|rater: .*", said)


def test_a_file_that_is_read_only(rated, tmp_path):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    closed = open_answers(tmp_path, read_only=True)
    assert len(closed.answers(1)) == 1
    assert_refused(
        "which is opened read-only, expected a viewer without --read-only",
        closed.record,
        1,
        "ann",
        IMAGES[0],
        ALL,
    )
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with contextlib.closing(
        sqlite3.connect(tmp_path / "answers.sqlite")
    ) as other:  # while somebody rates elsewhere
        other.execute("BEGIN")
        other.execute("SELECT * FROM raters").fetchall()
        rated.record(1, "bob", IMAGES[0], ALL)
        assert sorted(closed.answers(1)["rater"]) == ["ann", "bob"]


@pytest.mark.parametrize(
    "code", [sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_ERROR]
)
def test_reasons_that_cannot_be_provoked(tmp_path, code):
    problem = sqlite3.OperationalError("such is life")
    problem.sqlite_errorcode = code
    with (
        pytest.raises(InputError, match=rf"{DAMAGED[:-1]} \(such is life\), expected "),
        AnswerFile(tmp_path).reading(),
    ):
        raise problem


def test_a_call_that_is_wrong_is_a_defect(tmp_path):
    with pytest.raises(sqlite3.ProgrammingError), AnswerFile(tmp_path).reading() as database:
        database.execute("SELECT ?", ())


def test_a_directory_that_may_not_be_searched(answers, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", refuse)
    for call in (lambda: answers.studies("test", SEAL), lambda: begun(answers)):
        assert_refused(r"answers: .* cannot be opened [^\n]* check its permissions$", call)


SCHEMA = "PRAGMA writable_schema = ON; UPDATE sqlite_schema"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE answers SET value = 1 - value WHERE rowid = 2",
        "UPDATE answers SET example = 'other' WHERE rowid = 2",
        "UPDATE answers SET study = 7 WHERE rowid = 2",
        "UPDATE answers SET rater = 7 WHERE rowid = 2",
        "DELETE FROM answers WHERE rowid = 2",
        "DELETE FROM answers",
        "UPDATE categories SET category = 'unclear'",
        "UPDATE raters SET name = 'Anm' WHERE folded = 'ann'",
        "DELETE FROM participants",
        "UPDATE participants SET rater = 7",
        "UPDATE membership SET is_pie = 1 - is_pie WHERE rowid = 2",
        "UPDATE shown SET label_2 = 'x' WHERE place = 1",
        "UPDATE shown SET position = 199 WHERE place = 1",
        "UPDATE studies SET seed = 4",
        "DELETE FROM study_checksums",
        # Damage that SQLite does not call so.
        "UPDATE raters SET name = CAST(x'ff61' AS TEXT)",
        f"{SCHEMA} SET sql = replace(sql, 'label_3', 'Label_3')",
        f"{SCHEMA} SET sql = 'CREATE TABLE x' WHERE name = 'raters'",
        "UPDATE answers SET value = 7",
    ],
)
def test_a_changed_digit_is_found_and_never_sealed(rated, tmp_path, statement):
    change(tmp_path, statement)
    for _ in range(2):  # an attempt to write must not make the damage valid
        assert_refused(rf"{DAMAGED[:-1]}; move it away to start from scratch ", rated.answers, 1)
        with contextlib.suppress(InputError):
            rated.record(1, "ann", IMAGES[0], dict.fromkeys(KEYS, 0))
        with contextlib.suppress(InputError):
            begun(rated, n=4)


def test_answers_of_another_rater_can_be_recorded_beside_damaged_ones(rated, tmp_path):
    change(tmp_path, "UPDATE answers SET value = 0 WHERE rowid = 2")
    rated.record(1, "bob", IMAGES[0], ALL)
    assert_refused(
        "whose answers of 'ann' in study 1 do not match their checksum",
        rated.record,
        1,
        "ann",
        IMAGES[0],
        ALL,
    )
    assert rated.of_image(1, "bob", IMAGES[0]).answers == ALL


def test_an_empty_file_is_a_beginning(answers, tmp_path):
    (tmp_path / "answers.sqlite").touch()
    assert answers.studies("test", SEAL).empty
    assert begun(answers) == 1


@pytest.mark.parametrize("name", ["answers.sqlite", "answers.sqlite-wal"])
def test_links_out_of_the_study_are_refused(tmp_path, name):
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    begun(open_answers(away))
    content = (away / "answers.sqlite").read_bytes()
    if name != "answers.sqlite":
        begun(open_answers(home))
    (home / name).symlink_to(away / "answers.sqlite")
    for call in (
        lambda: open_answers(home).studies("test", SEAL),
        lambda: begun(open_answers(home), seed=9),
    ):
        assert_refused(rf"answers: .*{name}, a link out of the study's directory", call)
    assert (away / "answers.sqlite").read_bytes() == content
    link = tmp_path / "link"  # the study itself may be reached by a link
    link.symlink_to(away)
    assert len(open_answers(link).studies("test", SEAL)) == 1


@pytest.mark.parametrize("name", ["answers.sqlite", "answers.sqlite-wal"])
def test_a_link_to_itself_is_one_line(tmp_path, name):
    answers = open_answers(tmp_path)
    if name != "answers.sqlite":
        begun(answers)
    (tmp_path / name).symlink_to(tmp_path / name)
    for call in (lambda: answers.studies("test", SEAL), lambda: begun(answers)):
        assert_refused(DAMAGED, call)


def test_a_directory_or_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "answers.sqlite")
    with pytest.raises(InputError, match="which is not a file"):
        open_answers(tmp_path).studies("test", SEAL)
    assert_refused(
        r"directory: got .*nowhere, which does not exist", open_answers, tmp_path / "nowhere"
    )


def test_a_read_only_study_can_be_read(small_disk):
    answers = open_answers(small_disk)
    answers.record(begun(answers), "ann", IMAGES[0], ALL)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert len(answers.answers(1)) == 1
    assert_refused(
        r"answers: .* cannot be (written|opened)[^\n]*$", answers.record, 1, "ann", IMAGES[0], ALL
    )


def test_a_full_disk_loses_nothing(small_disk):
    answers = open_answers(small_disk)
    answers.record(begun(answers), "ann", IMAGES[0], ALL)
    disk = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(disk.f_bavail * disk.f_bsize))
    assert_refused(r"answers: .* cannot be [^\n]*$", rate, small_disk, "bob", 1, IMAGES * 200)
    (small_disk / "ballast").unlink()
    assert answers.of_image(1, "ann", IMAGES[0]).answers == ALL
    answers.record(1, "bob", IMAGES[1], ALL)
