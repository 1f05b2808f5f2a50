"""Store of the answers of human raters, `DIR/answers.sqlite`: [F] 3.2 and appendix C.

Every call opens the file, and all it writes is on the disk when it returns. So raters in several browsers, servers and
processes may answer at once, and no answer is lost when one of them is killed.
"""

from __future__ import annotations

import dataclasses
import datetime
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from tfaudit.audits.survey.image_labels import image_labels
from tfaudit.audits.survey.questions import CATEGORIES, QUESTIONS
from tfaudit.errors import InputError, require, require_one_of
from tfaudit.store.ratings.checksums import (
    participant_damage,
    seal_participant,
    seal_study,
    study_damage,
)
from tfaudit.store.ratings.database import AnswerFile
from tfaudit.store.ratings.names import folded_name, rater_name

if TYPE_CHECKING:
    from tfaudit.audits.survey.sample import SurveySample

_KEYS = tuple(question.key for question in QUESTIONS)
_LABELS = ["label_1", "label_2", "label_3"]


@dataclasses.dataclass(frozen=True)
class ImageAnswers:
    """A rater's answers about an image: 0, 1 or None (cannot say) by answered question; names of `CATEGORIES`."""

    answers: Mapping[str, int | None]
    categories: tuple[str, ...]


def open_answers(directory: str | Path, *, read_only: bool = False) -> Answers:
    """Open the answers in a study's directory; the first human study creates the file, unless it is read-only.

    Raises:
        InputError: the directory does not exist.
    """
    return Answers(AnswerFile(directory, read_only=read_only))


class Answers:
    """Human studies, their raters and the raters' answers.

    A place is the number of an image in the order of the study, from 0. A study belongs to the examples from which it
    was drawn, identified by their fingerprint. If a split gets other examples, its studies stay in the file but are no
    longer listed. Every method raises an InputError for an unknown study or image, and if the file is damaged, locked,
    read-only or from another program.
    """

    def __init__(self, file: AnswerFile) -> None:
        self._file = file

    def begin(
        self,
        sample: SurveySample,
        *,
        variant: str,
        split: str,
        seed: int,
        examples: str,
        example_ids: Sequence[object],
    ) -> int:
        """Begin a study, or return the number of the existing one with the same arguments and number of images.

        `survey_sample` drew the sample with this seed, 0 to 2^63 - 1, from the PIEs of a variant. `examples` is the
        fingerprint of the split's examples, `example_ids` their `(N,)` ids. An existing study stays unchanged;
        `shows_sample` tests whether it shows this sample.
        """
        require(0 <= seed < 2**63, "seed", seed, "a number from 0 to 2^63 - 1")
        rows = _rows(sample)
        with self._file.writing() as database:
            facts = (split, examples, variant, len(rows), seed)
            same = "SELECT study FROM studies WHERE (split, examples, variant, images, seed) = (?, ?, ?, ?, ?)"
            if row := database.execute(same, facts).fetchone():
                return int(row[0])
            fields = "INSERT INTO studies (split, examples, variant, images, seed, begun) VALUES (?, ?, ?, ?, ?, ?)"
            study = int(database.execute(fields, (*facts, _now())).lastrowid or 0)
            ids = [str(example_ids[position]) for position, *_ in rows]
            shown = [(study, place, ids[place], *row[:-1]) for place, row in enumerate(rows)]
            membership = [(study, example, row[-1]) for example, row in zip(ids, rows, strict=True)]
            database.executemany("INSERT INTO shown VALUES (?, ?, ?, ?, ?, ?, ?)", shown)
            database.executemany("INSERT INTO membership VALUES (?, ?, ?)", membership)
            seal_study(database, study)
        return study

    def shows_sample(self, study: int, sample: SurveySample) -> bool:
        """Return whether a study shows this sample; it does not if new members have changed the PIEs since."""
        with self._file.reading() as database:
            self._require_study(database, study)
            query = (
                "SELECT position, label_1, label_2, label_3, is_pie FROM shown JOIN membership USING (study, example) "
                "WHERE study = ? ORDER BY place"
            )
            return database.execute(query, (study,)).fetchall() == _rows(sample)

    def check(self) -> None:
        """Compare the whole file with its checksums."""
        with self._file.reading(whole=True):
            pass

    def studies(self, split: str, examples: str) -> pd.DataFrame:
        """Return one row per study of these examples, the oldest first.

        Columns: `study`, `variant`, `images`, `seed`, `begun` (UTC), `raters`, their number.
        """
        query = (
            "SELECT study, variant, images, seed, begun, "
            "(SELECT count(DISTINCT rater) FROM answers WHERE answers.study = studies.study) AS raters "
            "FROM studies WHERE (split, examples) = (?, ?) ORDER BY study"
        )
        return self._table(query, split, examples)

    def num_outdated(self, split: str, examples: str) -> int:
        """Return the number of studies of a split whose examples have been replaced by these."""
        query = "SELECT count(*) FROM studies WHERE split = ? AND examples <> ?"
        with self._file.reading() as database:
            return int(database.execute(query, (split, examples)).fetchone()[0])

    def join(self, study: int, rater: str) -> bool:
        """Make a rater a participant of a study; return False if somebody of this name is one already.

        If two join under one name at the same moment, only one call returns True.
        """
        name = rater_name(rater)
        with self._file.writing() as database:
            self._require_study(database, study)
            rater_id = _rater_id(database, name)
            participant = "SELECT 1 FROM participants WHERE (study, rater) = (?, ?)"
            if database.execute(participant, (study, rater_id)).fetchone():
                return False
            self._file.require_whole(participant_damage(database, study, rater_id))
            seal_participant(database, study, rater_id)
        return True

    def sheet(self, study: int) -> pd.DataFrame:
        """Return the images that raters see, one per row, in order: `example` (id), `position`, `label_1` to `label_3`.

        The query does not read which images are PIEs.
        """
        query = "SELECT example, position, label_1, label_2, label_3 FROM shown WHERE study = ? ORDER BY place"
        return self._table(query, study, begun=study)

    def record(
        self,
        study: int,
        rater: str,
        example: str,
        answers: Mapping[str, int | None],
        categories: Collection[str] | None = None,
    ) -> None:
        """Write a rater's answers about an image; they replace earlier answers of the same rater.

        Answers are 0, 1 or None (cannot say) by question; answers to other questions stay. `categories` are all the
        categories that the rater gives the image; None leaves them unchanged.
        """
        name = rater_name(rater)
        for question, value in answers.items():
            require_one_of("answers", question, _KEYS)
            require(value in (0, 1, None), question, value, "0, 1 or None")
        for category in categories or ():
            require(
                category in CATEGORIES, "categories", category, f"one of {', '.join(CATEGORIES)}"
            )
        with self._file.writing() as database:
            self._require_study(database, study)
            shown = database.execute(
                "SELECT 1 FROM shown WHERE (study, example) = (?, ?)", (study, example)
            )
            if shown.fetchone() is None:
                raise InputError("example", repr(example), f"an image of study {study}")
            rater_id = _rater_id(database, name)
            self._file.require_whole(participant_damage(database, study, rater_id))
            image = (study, rater_id, example)
            now = _now()
            values = [
                (*image, key, None if value is None else int(value), now)
                for key, value in answers.items()
            ]
            database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", values)
            if categories is not None:
                database.execute(
                    "DELETE FROM categories WHERE (study, rater, example) = (?, ?, ?)", image
                )
                chosen = [(*image, category) for category in dict.fromkeys(categories)]
                database.executemany("INSERT INTO categories VALUES (?, ?, ?, ?)", chosen)
            seal_participant(database, study, rater_id)

    def of_image(self, study: int, rater: str, example: str) -> ImageAnswers:
        """Return the answers that a rater has given about an image so far."""
        image = (study, example, folded_name(rater_name(rater)))
        of_rater = "JOIN raters USING (rater) WHERE (study, example, folded) = (?, ?, ?)"
        with self._file.reading() as database:
            answers = dict(
                database.execute(f"SELECT question, value FROM answers {of_rater}", image)
            )
            rows = database.execute(f"SELECT category FROM categories {of_rater}", image)
            categories = {category for (category,) in rows}
        return ImageAnswers(
            answers, tuple(category for category in CATEGORIES if category in categories)
        )

    def next_place(self, study: int, rater: str) -> int | None:
        """Return the place of the first image without an answer of the rater; None if there is none."""
        query = (
            "SELECT min(place) FROM shown WHERE study = ?1 AND ?3 > (SELECT count(*) FROM answers "
            "WHERE answers.study = ?1 AND answers.example = shown.example "
            "AND rater = (SELECT rater FROM raters WHERE folded = ?2))"
        )
        with self._file.reading() as database:
            self._require_study(database, study)
            (place,) = database.execute(
                query, (study, folded_name(rater_name(rater)), len(_KEYS))
            ).fetchone()
        return None if place is None else int(place)

    def progress(self, study: int) -> pd.DataFrame:
        """Return one row per rater, by name: `rater`, `complete` images, `images`, time of the `last` answer (UTC)."""
        query = (
            "SELECT name AS rater, sum(done) AS complete, images, max(last) AS last FROM "
            "(SELECT rater, count(*) >= ?2 AS done, max(answered) AS last FROM answers WHERE study = ?1 "
            "GROUP BY rater, example) JOIN raters USING (rater) JOIN studies ON study = ?1 GROUP BY rater ORDER BY name"
        )
        return self._table(query, study, len(_KEYS), begun=study, whole=True)

    def answers(self, study: int) -> pd.DataFrame:
        """Return all answers, the input of `tfaudit.survey`. This unblinds the study.

        Columns: `rater`, `example` (id), `is_pie`, a column per question (0, 1 or missing), `categories` (joined by
        "; ") and `label_1` to `label_3`; one row per rater and image with an answer, in the order of the study.
        """
        query = (
            "SELECT name AS rater, example, is_pie, question, value, label_1, label_2, label_3, "
            "(SELECT group_concat(category, '; ') FROM categories AS c WHERE (c.study, c.rater, c.example) = "
            "(answers.study, answers.rater, answers.example)) AS categories "
            "FROM answers JOIN raters USING (rater) JOIN shown USING (study, example) "
            "JOIN membership USING (study, example) WHERE study = ? ORDER BY name, place"
        )
        long = self._table(query, study, begun=study, whole=True)
        long["value"] = long["value"].astype("Int64")
        rows = long.drop_duplicates(["rater", "example"]).set_index(["rater", "example"])
        values = long.pivot(index=["rater", "example"], columns="question", values="value").reindex(
            columns=_KEYS
        )
        rows = (
            rows[["is_pie", "categories", *_LABELS]]
            .assign(is_pie=rows["is_pie"].astype(bool))
            .join(values)
        )
        return rows.reset_index()[["rater", "example", "is_pie", *_KEYS, "categories", *_LABELS]]

    def labels(self, split: str, examples: str) -> pd.DataFrame:
        """Return the `image_labels` of these examples, over all their studies."""
        of_examples = "JOIN studies USING (study) WHERE (split, examples) = (?, ?)"
        answers = (
            f"SELECT rater, example, question, value FROM answers {of_examples} ORDER BY answered"
        )
        categories = f"SELECT rater, example, category FROM categories {of_examples}"
        with self._file.reading(whole=True) as database:
            return image_labels(
                *(_frame(database, query, split, examples) for query in (answers, categories))
            )

    def _table(
        self, query: str, *values: object, begun: int | None = None, whole: bool = False
    ) -> pd.DataFrame:
        """Return the rows of a query; a study that is named as `begun` must have begun. `whole` as in `AnswerFile`."""
        with self._file.reading(whole=whole) as database:
            if begun is not None:
                self._require_study(database, begun)
            return _frame(database, query, *values)

    def _require_study(self, database: sqlite3.Connection, study: int) -> None:
        """Raise an `InputError` unless the study has begun and shows the images that were drawn for it."""
        studies = [
            number for (number,) in database.execute("SELECT study FROM studies ORDER BY study")
        ]
        if study not in studies:
            raise InputError(
                "study",
                repr(study),
                f"a study that has begun ({', '.join(map(str, studies)) or 'none'})",
            )
        self._file.require_whole(study_damage(database, study))


def _rows(sample: SurveySample) -> list[tuple[int, str, str, str, int]]:
    """Return position, three labels and membership of each image, in plain types."""
    table = sample.sheet[["example", *_LABELS]].assign(is_pie=sample.key["is_pie"].astype(int))
    return list(table.astype(dict.fromkeys(_LABELS, str)).itertuples(index=False, name=None))


def _rater_id(database: sqlite3.Connection, name: str) -> int:
    """Return the number of a rater, who is added if unknown."""
    database.execute(
        "INSERT OR IGNORE INTO raters (name, folded) VALUES (?, ?)", (name, folded_name(name))
    )
    return int(
        database.execute(
            "SELECT rater FROM raters WHERE folded = ?", (folded_name(name),)
        ).fetchone()[0]
    )


def _frame(database: sqlite3.Connection, query: str, *values: object) -> pd.DataFrame:
    """Return the rows of a query; `pandas.read_sql` would hide the error codes of SQLite."""
    cursor = database.execute(query, values)
    return pd.DataFrame(cursor.fetchall(), columns=[name for name, *_ in cursor.description])


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
