"""Checksums of the raters' answers: SQLite finds a broken page, but not a changed digit.

One checksum covers the content of each study, and one the answers of each participant, a rater in a study. Before every
write the old checksum is verified, so that damage is never sealed.
"""

import hashlib
import sqlite3

_SHOWN = (
    "SELECT * FROM studies WHERE study = ?",
    "SELECT * FROM shown WHERE study = ? ORDER BY place",
    "SELECT * FROM membership WHERE study = ? ORDER BY example",
)
"""Everything that a study shows or hides, in a fixed order."""

_ANSWERED = (
    "SELECT * FROM raters WHERE rater = ?2",
    "SELECT * FROM answers WHERE (study, rater) = (?1, ?2) ORDER BY example, question",
    "SELECT * FROM categories WHERE (study, rater) = (?1, ?2) ORDER BY example, category",
)
"""Everything that a participant has answered, in a fixed order."""


def seal_study(database: sqlite3.Connection, study: int) -> None:
    """Write the checksum of a study's content."""
    row = (study, _checksum(database, _SHOWN, study))
    database.execute("INSERT OR REPLACE INTO study_checksums VALUES (?, ?)", row)


def seal_participant(database: sqlite3.Connection, study: int, rater: int) -> None:
    """Write the checksum of a rater's answers in a study; this makes the rater a participant."""
    row = (study, rater, _checksum(database, _ANSWERED, study, rater))
    database.execute("INSERT OR REPLACE INTO participants VALUES (?, ?, ?)", row)


def participant_damage(database: sqlite3.Connection, study: int, rater: int) -> str:
    """Return which answers of a rater in a study do not match their checksum, in words; empty if they do."""
    query = "SELECT checksum FROM participants WHERE (study, rater) = (?, ?)"
    sealed = database.execute(query, (study, rater)).fetchone()
    known = sealed is not None or rater in _raters(database, study)
    if known and sealed != (_checksum(database, _ANSWERED, study, rater),):
        name = database.execute("SELECT name FROM raters WHERE rater = ?", (rater,)).fetchone()
        return f"whose answers of {name[0] if name else 'a rater'!a} in study {study} do not match their checksum"
    return ""


def study_damage(database: sqlite3.Connection, study: int) -> str:
    """Return in words that a study's content does not match its checksum; empty if it does."""
    sealed = database.execute(
        "SELECT checksum FROM study_checksums WHERE study = ?", (study,)
    ).fetchone()
    return (
        ""
        if sealed == (_checksum(database, _SHOWN, study),)
        else f"whose study {study} does not match its checksum"
    )


def file_damage(database: sqlite3.Connection) -> str:
    """Return the first study or participant that does not match its checksum, in words; empty if all do."""
    tables = (
        "studies",
        "study_checksums",
        "shown",
        "membership",
        "participants",
        "answers",
        "categories",
    )
    studies = {
        study
        for table in tables
        for (study,) in database.execute(f"SELECT DISTINCT study FROM {table}")
    }
    for study in sorted(studies, key=str):  # a damaged number may be a text
        if words := study_damage(database, study):
            return words
        for rater in sorted(_raters(database, study, "participants"), key=str):
            if words := participant_damage(database, study, rater):
                return words
    return ""


def _raters(database: sqlite3.Connection, study: int, *tables: str) -> set[int]:
    """Return the numbers of the raters with a row of a study in the answers, the categories or other tables."""
    queries = [
        f"SELECT DISTINCT rater FROM {table} WHERE study = ?"
        for table in ("answers", "categories", *tables)
    ]
    return {rater for query in queries for (rater,) in database.execute(query, (study,))}


def _checksum(database: sqlite3.Connection, queries: tuple[str, ...], *numbers: int) -> str:
    digest = hashlib.sha256()
    for query in queries:
        digest.update(repr(database.execute(query, numbers).fetchall()).encode())
    return digest.hexdigest()
