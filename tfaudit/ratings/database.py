"""The SQLite file of raters' answers: its tables, how it is opened, and why it may be refused."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tfaudit.errors import InputError, one_line

__all__ = ["AnswerFile"]

_APPLICATION = int.from_bytes(b"tfan")
"""Says in the file's header whose it is."""

_VERSION = 1
"""Of the tables; it rises when an older tfaudit could not use them."""

_TABLES = (
    """CREATE TABLE studies (
        study INTEGER PRIMARY KEY,
        split TEXT NOT NULL, examples TEXT NOT NULL, variant TEXT NOT NULL, images INTEGER NOT NULL,
        seed INTEGER NOT NULL, begun TEXT NOT NULL,
        UNIQUE (split, examples, variant, images, seed)
    ) STRICT""",
    """CREATE TABLE shown (
        study INTEGER NOT NULL REFERENCES studies, place INTEGER NOT NULL,
        example TEXT NOT NULL, position INTEGER NOT NULL,
        label_1 TEXT NOT NULL, label_2 TEXT NOT NULL, label_3 TEXT NOT NULL,
        PRIMARY KEY (study, place), UNIQUE (study, example)
    ) STRICT""",
    # Apart from what is shown, so that nothing a rater's page asks for can hold it.
    """CREATE TABLE membership (
        study INTEGER NOT NULL, example TEXT NOT NULL, is_pie INTEGER NOT NULL CHECK (is_pie IN (0, 1)),
        PRIMARY KEY (study, example), FOREIGN KEY (study, example) REFERENCES shown (study, example)
    ) STRICT""",
    "CREATE TABLE raters (rater INTEGER PRIMARY KEY, name TEXT NOT NULL, folded TEXT NOT NULL UNIQUE) STRICT",
    """CREATE TABLE answers (
        study INTEGER NOT NULL, rater INTEGER NOT NULL REFERENCES raters, example TEXT NOT NULL,
        question TEXT NOT NULL, value INTEGER CHECK (value IN (0, 1)), answered TEXT NOT NULL,
        PRIMARY KEY (study, rater, example, question),
        FOREIGN KEY (study, example) REFERENCES shown (study, example)
    ) STRICT""",
    """CREATE TABLE categories (
        study INTEGER NOT NULL, rater INTEGER NOT NULL REFERENCES raters, example TEXT NOT NULL,
        category TEXT NOT NULL,
        PRIMARY KEY (study, rater, example, category),
        FOREIGN KEY (study, example) REFERENCES shown (study, example)
    ) STRICT""",
)

_MARKS = (f"PRAGMA application_id = {_APPLICATION}", f"PRAGMA user_version = {_VERSION}")

_DAMAGED = "is damaged; move it away to begin anew (`sqlite3 FILE .recover` saves what is in it)"
_REASONS = {
    sqlite3.SQLITE_BUSY: "is held by another program; try again when that has ended",
    sqlite3.SQLITE_READONLY: "cannot be written: it is read-only",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check the permissions of the study's directory",
    sqlite3.SQLITE_PERM: "cannot be opened; check the permissions of the study's directory",
    sqlite3.SQLITE_FULL: "cannot be written: no space on the disk",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk fails or is full",
    sqlite3.SQLITE_PROTOCOL: "cannot be used: its locks fail on this disk",
    sqlite3.SQLITE_NOLFS: "cannot be used: it is too large for this disk",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_ERROR: _DAMAGED,
    sqlite3.SQLITE_CONSTRAINT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: "is no SQLite file; move it away to begin anew",
}


class AnswerFile:
    """One file, opened anew for each use: threads and processes may use it at once.

    Args:
        directory: of the study; the file need not be there.
        patience: seconds to wait for another writer.

    Attributes:
        place: of the file.

    Raises:
        InputError: no such directory.
    """

    def __init__(self, directory: str | Path, *, patience: float = 5) -> None:
        if not Path(directory).is_dir():
            raise InputError(f"directory: {directory} is none; `tfaudit run RECIPE --out DIR` makes one")
        self.place = Path(directory) / "answers.sqlite"
        self._patience = patience

    @contextlib.contextmanager
    def reading(self, *, whole: bool = False) -> Iterator[sqlite3.Connection]:
        """The answers as they are now; empty tables where there is no file yet.

        Args:
            whole: looks through all of the file for damage first.

        Raises:
            InputError: the file cannot be used.
        """
        with self._one_line(), contextlib.ExitStack() as opened:
            if self.place.exists() or self.place.is_symlink():
                database = opened.enter_context(contextlib.closing(self._connect(self._reading_mode())))
                database.execute("BEGIN")  # one look at the file, whoever writes it meanwhile
                if not self._is_new(database):
                    if whole and database.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
                        raise InputError(f"answers: {self.place} {_DAMAGED}")
                    yield database
                    return
            database = opened.enter_context(contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)))
            _create(database)
            yield database

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: whole and on the disk after the block, or undone when the block raises.

        Raises:
            InputError: the file cannot be used.
        """
        with self._one_line(), contextlib.closing(self._connect("rwc")) as database:
            database.execute("BEGIN")  # one look, as above
            new = self._is_new(database)
            database.execute("COMMIT")
            if new:
                # Fails where another process does it just now; that is as good.
                with contextlib.suppress(sqlite3.OperationalError):
                    database.execute("PRAGMA journal_mode = WAL")
            database.execute("BEGIN IMMEDIATE")
            try:
                if self._is_new(database):
                    _create(database)
                yield database
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise

    def _reading_mode(self) -> str:
        # Where SQLite cannot put its files beside this one, nobody writes, and it may do without them.
        alone = not os.access(self.place.parent, os.W_OK) and not self._beside("-wal").exists()
        return "ro&immutable=1" if alone else "rw"

    def _connect(self, mode: str) -> sqlite3.Connection:
        self._require_inside()
        place = f"{self.place.absolute().as_uri()}?mode={mode}"
        database = sqlite3.connect(place, uri=True, timeout=self._patience, isolation_level=None)
        try:
            database.execute("PRAGMA foreign_keys = ON")
            database.execute("PRAGMA synchronous = FULL")  # an answer that was taken survives a power cut
        except BaseException:
            database.close()
            raise
        return database

    def _is_new(self, database: sqlite3.Connection) -> bool:
        """Has the file no tables yet?

        Raises:
            InputError: the tables are somebody else's, a newer version's, or damaged.
        """
        application, version = (
            database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if application == _APPLICATION:
            if version != _VERSION:
                raise InputError(f"answers: {self.place} has the format {version}, this tfaudit knows {_VERSION}")
            if not {sql for (sql,) in database.execute("SELECT sql FROM sqlite_schema")}.issuperset(_TABLES):
                raise InputError(f"answers: {self.place} {_DAMAGED}")
            return False
        if application or version or database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            raise InputError(f"answers: {self.place} is another program's SQLite file; move it away")
        return True

    def _beside(self, suffix: str) -> Path:
        return self.place.with_name(self.place.name + suffix)

    def _require_inside(self) -> None:
        home = self.place.parent.resolve()
        for path in map(self._beside, ("", "-wal", "-shm", "-journal")):
            # Path.resolve refuses links that lead to themselves; these are refused when they are opened.
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(home):
                raise InputError("answers", f"{path} leads out of the study's directory", "a file in it")
        if self.place.exists() and not self.place.is_file():
            raise InputError(f"answers: {self.place} is no file; move it away")

    @contextlib.contextmanager
    def _one_line(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError, OSError) as problem:
            reason = _reason(problem)
            if reason is None:
                raise
            raise InputError(f"answers: {self.place} {reason} ({one_line(problem)})") from problem


def _reason(problem: Exception) -> str | None:
    """Why a file cannot be used; None where the file is not why."""
    if isinstance(problem, OSError):
        return _REASONS[sqlite3.SQLITE_CANTOPEN]
    code = getattr(problem, "sqlite_errorcode", None)
    if code is None:  # Python's own: of text that is none, or of a call that is wrong
        return _DAMAGED if isinstance(problem, UnicodeDecodeError | sqlite3.OperationalError) else None
    return _REASONS.get(code & 0xFF)  # the rest tells details


def _create(database: sqlite3.Connection) -> None:
    for statement in (*_TABLES, *_MARKS):
        database.execute(statement)
