"""What raters of the human study answer, kept in `DIR/answers.sqlite`: [F] 3.2 and appendix C.

Every call opens the file, and what it writes is on the disk when it returns: raters in several browsers, servers and
processes may answer at once, and none of them loses an answer when one is killed.
"""

from __future__ import annotations

import dataclasses
import datetime
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from tfaudit.audit.survey.image_labels import image_labels
from tfaudit.audit.survey.questions import CATEGORIES, QUESTIONS
from tfaudit.errors import InputError, require
from tfaudit.ratings.database import AnswerFile
from tfaudit.ratings.names import folded, rater_name

if TYPE_CHECKING:
    from tfaudit.audit.survey.sample import SurveySample

__all__ = ["Answers", "Given", "open_answers"]

_KEYS = tuple(question.key for question in QUESTIONS)
_LABELS = ["label_1", "label_2", "label_3"]


@dataclasses.dataclass(frozen=True)
class Given:
    """What one rater has said about one image.

    Attributes:
        answers: 0, 1 or None (cannot say) by question; questions without an answer are not in it.
        categories: some of `CATEGORIES`.
    """

    answers: Mapping[str, int | None]
    categories: tuple[str, ...]


def open_answers(directory: str | Path) -> Answers:
    """The answers in a study's directory; there is no file before the first study begins.

    Raises:
        InputError: no such directory.
    """
    return Answers(AnswerFile(directory))


class Answers:
    """Human studies, their raters and what those answer.

    A place is an image's number in the order of showing, from 0. A study is of the examples it was drawn from, which
    their seal stands for: `Inputs.examples`. Where a split gets other examples its studies are kept, and not found.
    Every method raises an InputError of one line where there is no such study or image, or where the file is damaged,
    locked, foreign or read-only.

    Args:
        file: that holds them.
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
        """Begins a study, or finds the one of these arguments and this number of images, which stays as drawn.

        Args:
            sample: that `survey_sample` drew with this seed.
            variant: key.
            split: whose examples they are.
            seed: 0 to 2^63 - 1.
            examples: seal of the split's examples.
            example_ids: `(N,)`, of all examples of the split.

        Returns:
            The study's number. `is_as_drawn` says whether the sample is the one that was found.
        """
        require(0 <= seed < 2**63, "seed", seed, "a number from 0 to 2^63 - 1")
        rows = _rows(sample)
        with self._file.writing() as database:
            facts = (split, examples, variant, len(rows), seed)
            same = "SELECT study FROM studies WHERE (split, examples, variant, images, seed) = (?, ?, ?, ?, ?)"
            if found := database.execute(same, facts).fetchone():
                return int(found[0])
            fields = "INSERT INTO studies (split, examples, variant, images, seed, begun) VALUES (?, ?, ?, ?, ?, ?)"
            study = database.execute(fields, (*facts, _now())).lastrowid
            ids = [str(example_ids[position]) for position, *_ in rows]
            database.executemany(
                "INSERT INTO shown VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(study, place, ids[place], *row[:-1]) for place, row in enumerate(rows)],
            )
            database.executemany(
                "INSERT INTO membership VALUES (?, ?, ?)",
                [(study, example, row[-1]) for example, row in zip(ids, rows, strict=True)],
            )
        return int(study or 0)

    def is_as_drawn(self, study: int, sample: SurveySample) -> bool:
        """Does a study show just this sample? Not so where members were added since, and other images became PIEs."""
        with self._file.reading() as database:
            _require_study(database, study)
            query = (
                "SELECT position, label_1, label_2, label_3, is_pie FROM shown JOIN membership USING (study, example) "
                "WHERE study = ? ORDER BY place"
            )
            return database.execute(query, (study,)).fetchall() == _rows(sample)

    def studies(self, split: str, examples: str) -> pd.DataFrame:
        """One row a study of examples, the oldest first: `study`, `variant`, `images`, `seed`, `begun`, `raters`."""
        query = (
            "SELECT study, variant, images, seed, begun, "
            "(SELECT count(DISTINCT rater) FROM answers WHERE answers.study = studies.study) AS raters "
            "FROM studies WHERE (split, examples) = (?, ?) ORDER BY study"
        )
        with self._file.reading() as database:
            return _frame(database, query, split, examples)

    def of_other_examples(self, split: str, examples: str) -> int:
        """How many studies of a split are of examples that have been replaced by these."""
        query = "SELECT count(*) FROM studies WHERE split = ? AND examples <> ?"
        with self._file.reading() as database:
            return int(database.execute(query, (split, examples)).fetchone()[0])

    def sheet(self, study: int) -> pd.DataFrame:
        """What raters see, a row an image in the order of showing: `example` (id), `position`, `label_1` to `label_3`.

        Which of them are PIEs is not read.
        """
        query = "SELECT example, position, label_1, label_2, label_3 FROM shown WHERE study = ? ORDER BY place"
        with self._file.reading() as database:
            _require_study(database, study)
            return _frame(database, query, study)

    def record(
        self,
        study: int,
        rater: str,
        example: str,
        answers: Mapping[str, int | None],
        categories: Collection[str] | None = None,
    ) -> None:
        """Writes what a rater says about an image, over what the same rater said before.

        Args:
            study: its number.
            rater: a name, as `rater_name` allows it.
            example: id of the image.
            answers: 0, 1 or None (cannot say) by question; those of other questions stay.
            categories: all that the rater gives the image; None leaves them as they are.
        """
        name = rater_name(rater)
        for question, value in answers.items():
            require(question in _KEYS, "answers", question, f"any of {', '.join(_KEYS)}")
            require(value in (0, 1, None), question, value, "0, 1 or None")
        for category in categories or ():
            require(category in CATEGORIES, "categories", category, f"any of {', '.join(CATEGORIES)}")
        with self._file.writing() as database:
            _require_study(database, study)
            known = database.execute("SELECT 1 FROM shown WHERE (study, example) = (?, ?)", (study, example))
            if known.fetchone() is None:
                raise InputError("example", repr(example), f"an image of study {study}")
            database.execute("INSERT OR IGNORE INTO raters (name, folded) VALUES (?, ?)", (name, folded(name)))
            (who,) = database.execute("SELECT rater FROM raters WHERE folded = ?", (folded(name),)).fetchone()
            image, now = (study, who, example), _now()
            database.executemany(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)",
                [(*image, key, None if value is None else int(value), now) for key, value in answers.items()],
            )
            if categories is not None:
                database.execute("DELETE FROM categories WHERE (study, rater, example) = (?, ?, ?)", image)
                database.executemany(
                    "INSERT INTO categories VALUES (?, ?, ?, ?)", [(*image, each) for each in dict.fromkeys(categories)]
                )

    def given(self, study: int, rater: str, example: str) -> Given:
        """What a rater has said about an image so far."""
        image = (study, example, folded(rater_name(rater)))
        answered = (
            "SELECT question, value FROM answers JOIN raters USING (rater) WHERE (study, example, folded) = (?, ?, ?)"
        )
        chosen = "SELECT category FROM categories JOIN raters USING (rater) WHERE (study, example, folded) = (?, ?, ?)"
        with self._file.reading() as database:
            answers = dict(database.execute(answered, image))
            said = {category for (category,) in database.execute(chosen, image)}
        return Given(answers, tuple(category for category in CATEGORIES if category in said))

    def next(self, study: int, rater: str) -> int | None:
        """Place of the first image that lacks an answer of the rater; None where all are answered."""
        query = (
            "SELECT min(place) FROM shown WHERE study = ?1 AND ?3 > (SELECT count(*) FROM answers "
            "WHERE answers.study = ?1 AND answers.example = shown.example "
            "AND rater = (SELECT rater FROM raters WHERE folded = ?2))"
        )
        with self._file.reading() as database:
            _require_study(database, study)
            found = database.execute(query, (study, folded(rater_name(rater)), len(_KEYS))).fetchone()[0]
        return None if found is None else int(found)

    def progress(self, study: int) -> pd.DataFrame:
        """One row a rater, by name: `rater`, `complete` images, `images` in all, `last` answer (UTC)."""
        query = (
            "SELECT name AS rater, sum(done) AS complete, images, max(last) AS last FROM "
            "(SELECT rater, count(*) >= ?2 AS done, max(answered) AS last FROM answers WHERE study = ?1 "
            "GROUP BY rater, example) JOIN raters USING (rater) JOIN studies ON study = ?1 GROUP BY rater ORDER BY name"
        )
        with self._file.reading() as database:
            _require_study(database, study)
            return _frame(database, query, study, len(_KEYS))

    def answers(self, study: int) -> pd.DataFrame:
        """All answers as `tfaudit.survey` takes them. This unblinds.

        Columns: `rater`, `example` (id), `is_pie`, a column per question (0, 1 or nothing), `categories` (joined by
        "; ") and `label_1` to `label_3`; a row per rater and image with an answer, by rater in the order of showing.
        """
        query = (
            "SELECT name AS rater, example, is_pie, question, value, label_1, label_2, label_3, "
            "(SELECT group_concat(category, '; ') FROM categories AS c WHERE (c.study, c.rater, c.example) = "
            "(answers.study, answers.rater, answers.example)) AS categories "
            "FROM answers JOIN raters USING (rater) JOIN shown USING (study, example) "
            "JOIN membership USING (study, example) WHERE study = ? ORDER BY name, place"
        )
        with self._file.reading(whole=True) as database:
            _require_study(database, study)
            long = _frame(database, query, study)
        long["value"] = long["value"].astype("Int64")
        rows = long.drop_duplicates(["rater", "example"]).set_index(["rater", "example"])
        values = long.pivot(index=["rater", "example"], columns="question", values="value").reindex(columns=_KEYS)
        rows = rows[["is_pie", "categories", *_LABELS]].assign(is_pie=rows["is_pie"].astype(bool)).join(values)
        return rows.reset_index()[["rater", "example", "is_pie", *_KEYS, "categories", *_LABELS]]

    def labels(self, split: str, examples: str) -> pd.DataFrame:
        """What raters have seen in these examples, over all studies of them: as `image_labels`."""
        with self._file.reading(whole=True) as database:
            answers = _frame(
                database,
                "SELECT rater, example, question, value FROM answers JOIN studies USING (study) "
                "WHERE (split, examples) = (?, ?) ORDER BY answered",
                *(split, examples),
            )
            categories = _frame(
                database,
                "SELECT rater, example, category FROM categories JOIN studies USING (study) "
                "WHERE (split, examples) = (?, ?)",
                *(split, examples),
            )
        return image_labels(answers, categories)


def _rows(sample: SurveySample) -> list[tuple[int, str, str, str, int]]:
    """Position, three labels and membership of each image, in plain types."""
    labels = zip(*(sample.sheet[name].astype(str) for name in _LABELS), strict=True)
    members = zip(sample.sheet["example"], labels, sample.key["is_pie"], strict=True)
    return [(int(position), *three, int(is_pie)) for position, three, is_pie in members]


def _require_study(database: sqlite3.Connection, study: int) -> None:
    known = [number for (number,) in database.execute("SELECT study FROM studies ORDER BY study")]
    if study not in known:
        raise InputError(f"study: {study}, known are {', '.join(map(str, known)) or 'none'}; begin one")


def _frame(database: sqlite3.Connection, query: str, *values: object) -> pd.DataFrame:
    """A query's rows; pandas' own reader hides why SQLite refuses."""
    found = database.execute(query, values)
    return pd.DataFrame(found.fetchall(), columns=[name for name, *_ in found.description])


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
