"""SQLite file of the raters' answers: its tables, its connections, and its errors."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tfaudit.errors import InputError, listed, one_line
from tfaudit.runtime.file_systems import is_shared
from tfaudit.store.ratings.checksums import file_damage

_APPLICATION = int.from_bytes(b"tfan")
"""Identifies the file as tfaudit's in its header."""

_VERSION = 2
"""Version of the tables. No other is read: it rises with every change of them."""

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
    # Apart from the content that is shown, so that no query of a rater's page can return it.
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
    "CREATE TABLE study_checksums (study INTEGER PRIMARY KEY, checksum TEXT NOT NULL) STRICT",
    """CREATE TABLE participants (
        study INTEGER NOT NULL, rater INTEGER NOT NULL, checksum TEXT NOT NULL, PRIMARY KEY (study, rater)
    ) STRICT""",
)

_MARKS = (f"PRAGMA application_id = {_APPLICATION}", f"PRAGMA user_version = {_VERSION}")

_MOVE = "move it away to start from scratch"
_DAMAGED = (
    "which is damaged",
    f"a file that tfaudit wrote; {_MOVE} (`sqlite3 FILE .recover` saves its content)",
)
_NO_ACCESS = ("which cannot be opened", "access to the study's directory; check its permissions")
_REASONS = {
    sqlite3.SQLITE_BUSY: (
        "which another program locks",
        "an unlocked file; try again when that program has ended",
    ),
    sqlite3.SQLITE_READONLY: (
        "which cannot be written: it is read-only",
        "a writable file",
    ),
    sqlite3.SQLITE_CANTOPEN: _NO_ACCESS,
    sqlite3.SQLITE_PERM: _NO_ACCESS,
    sqlite3.SQLITE_FULL: ("which cannot be written: the disk is full", "free space on the disk"),
    sqlite3.SQLITE_IOERR: (
        "which cannot be read or written: the disk fails or is full",
        "a working disk",
    ),
    sqlite3.SQLITE_PROTOCOL: (
        "which cannot be used: its locks fail",
        "a disk that supports SQLite's locks",
    ),
    sqlite3.SQLITE_NOLFS: (
        "which cannot be used: it is too large for this disk",
        "a disk for large files",
    ),
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_ERROR: _DAMAGED,
    sqlite3.SQLITE_CONSTRAINT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: ("which is not an SQLite file", f"a file that tfaudit wrote; {_MOVE}"),
}
"""Errors by code of SQLite: the state of the file, and what an `InputError` expects instead."""


class AnswerFile:
    """The file of answers, at `path`, opened for each use: threads and processes may use it at once.

    The file need not exist in the study's `directory`. `patience` is the seconds to wait for another writer.
    `read_only` refuses to write, and reading leaves no file behind.

    Raises:
        InputError: the directory does not exist.
    """

    def __init__(
        self, directory: str | Path, *, patience: float = 5, read_only: bool = False
    ) -> None:
        if not Path(directory).is_dir():
            expected = "a directory of `tfaudit run RECIPE --out DIR`"
            raise InputError("directory", f"{directory}, which does not exist", expected)
        self.path = Path(directory) / "answers.sqlite"
        self._patience = patience
        self._read_only = read_only

    @contextlib.contextmanager
    def reading(self, *, whole: bool = False) -> Iterator[sqlite3.Connection]:
        """Open a snapshot of the answers; empty tables if there is no file yet.

        With `whole` the whole file is checked for damage first. A file that cannot be used raises an `InputError`.
        """
        with self._one_line(), contextlib.ExitStack() as opened:
            if self.path.exists() or self.path.is_symlink():
                # Without write access to the directory SQLite cannot put its files beside this one, nor can a writer.
                read_only = self._read_only or not os.access(self.path.parent, os.W_OK)
                mode = "ro&immutable=1" if read_only and not self._beside("-wal").exists() else "rw"
                if mode == "rw" and self._read_only:
                    # Another process writes: its files are there, and this one makes none.
                    mode = "ro"
                database = opened.enter_context(contextlib.closing(self._connect(mode)))
                database.execute("BEGIN")  # one snapshot, even if another process writes meanwhile
                if self._holds_tables(database):
                    if whole and database.execute("PRAGMA integrity_check(1)").fetchall() != [
                        ("ok",)
                    ]:
                        raise self._error(*_DAMAGED)
                    if whole:
                        self.require_whole(file_damage(database))
                    yield database
                    return
            database = opened.enter_context(
                contextlib.closing(sqlite3.connect(":memory:", isolation_level=None))
            )
            _create(database)
            yield database

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction: complete and on the disk after the block, or undone if the block raises.

        A file that cannot be used raises an `InputError`.
        """
        if self._read_only:
            raise self._error("which is opened read-only", "a viewer without --read-only")
        with self._one_line(), contextlib.closing(self._connect("rwc")) as database:
            database.execute("BEGIN")  # one snapshot, as above
            new = not self._holds_tables(database)
            database.execute("COMMIT")
            if new and not is_shared(self.path.parent):
                # Fails if another process does it at the same moment, which is as good.
                with contextlib.suppress(sqlite3.OperationalError):
                    database.execute("PRAGMA journal_mode = WAL")
            database.execute("BEGIN IMMEDIATE")
            try:
                if not self._holds_tables(database):
                    _create(database)
                yield database
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise

    def require_whole(self, damage: str) -> None:
        """Raise the `InputError` for a damaged file unless `damage`, in words, is empty."""
        if damage:
            raise self._error(damage, _DAMAGED[1])

    def _connect(self, mode: str) -> sqlite3.Connection:
        self._require_inside()
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        database = sqlite3.connect(uri, uri=True, timeout=self._patience, isolation_level=None)
        try:
            database.execute("PRAGMA trusted_schema = OFF")
            if (
                mode in ("rw", "rwc")
                and not self._read_only
                and is_shared(self.path.parent)
                and self._has_wal()  # last: closing the file would take SQLite's locks from other threads
            ):
                # A write-ahead log needs memory that all users of the file share. A single user can do without.
                database.execute("PRAGMA locking_mode = EXCLUSIVE")
                database.execute("PRAGMA journal_mode = DELETE")
                database.execute("PRAGMA locking_mode = NORMAL")
            database.execute("PRAGMA foreign_keys = ON")
            database.execute("PRAGMA synchronous = FULL")  # a recorded answer survives a power cut
        except BaseException:
            database.close()
            raise
        return database

    def _holds_tables(self, database: sqlite3.Connection) -> bool:
        """Return whether the file holds tfaudit's tables or none; raise for damaged or other tables."""
        application, version = (
            database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        if application == _APPLICATION:
            if version != _VERSION:
                raise self._error(
                    f"which has the format {version}", f"the format {_VERSION} of this tfaudit"
                )
            schema = database.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
            if not {sql for *_, sql in schema}.issuperset(_TABLES):
                raise self._error(*_DAMAGED)
            # A trigger or view would run when answers are written or read; SQLite itself makes the others.
            if foreign := [
                f"{kind} {name!a}"
                for kind, name, sql in schema
                if sql not in _TABLES and not _made(name)
            ]:
                expected = f"the tables of tfaudit alone; {_MOVE}"
                raise self._error(
                    f"which holds what tfaudit did not make: {listed(foreign)}", expected
                )
            return True
        if (
            application
            or version
            or database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        ):
            raise self._error(
                "which is another program's SQLite file", f"a file that tfaudit wrote; {_MOVE}"
            )
        return False

    def _has_wal(self) -> bool:
        """Return whether the header says that the file has a write-ahead log."""
        try:
            with self.path.open("rb") as file:
                return file.read(20)[18:] == b"\2\2"
        except OSError:
            return False  # SQLite will tell

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def _require_inside(self) -> None:
        home = self.path.parent.resolve()
        for path in map(self._beside, ("", "-wal", "-shm", "-journal")):
            # Path.resolve refuses links to themselves; opening them fails with an error of its own.
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(home):
                raise InputError(
                    "answers", f"{path}, a link out of the study's directory", "a file in it"
                )
        if self.path.exists() and not self.path.is_file():
            raise self._error("which is not a file", "a file; move it away")

    @contextlib.contextmanager
    def _one_line(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError, OSError) as problem:
            code = getattr(problem, "sqlite_errorcode", None)
            reason = _NO_ACCESS if isinstance(problem, OSError) else None
            if code is not None:
                reason = _REASONS.get(code & 0xFF)  # the higher bits hold details
            elif isinstance(problem, UnicodeDecodeError | sqlite3.OperationalError):
                reason = _DAMAGED  # raised by Python itself: text that is not UTF-8
            if reason is None:
                raise  # the file is not the cause
            state, expected = reason
            raise self._error(f"{state} ({one_line(problem)})", expected) from problem

    def _error(self, state: str, expected: str) -> InputError:
        return InputError("answers", f"{self.path}, {state}", expected)


def _made(name: str) -> bool:
    """Return whether SQLite makes an object of this name by itself: indices of keys, and statistics of `ANALYZE`."""
    return name.startswith(("sqlite_autoindex_", "sqlite_stat"))


def _create(database: sqlite3.Connection) -> None:
    for statement in (*_TABLES, *_MARKS):
        database.execute(statement)
