"""The file that a backup is: a zip with a manifest, the rows of each table, other files."""

import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from runs.domain.values.errors import Invalid, Problem, Refused

FORM = 1
_MANIFEST = "manifest.json"
_UNREADABLE = (zipfile.BadZipFile, OSError, EOFError, ValueError, KeyError, TypeError, zlib.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    columns: Sequence[str]
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup tells of itself."""

    form: int
    made_at: str
    keys: Mapping[str, str]
    migrations: Sequence[tuple[str, str]]
    tables: Mapping[str, Table]


def write(
    target: Path, fill: Callable[["Writer"], None], manifest: Callable[["Writer"], Manifest]
) -> None:
    """The whole file or none: it appears under its name when it is complete."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with _private(part) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            writer = Writer(archive)
            fill(writer)
            archive.writestr(_MANIFEST, json.dumps(asdict(manifest(writer)), indent=1))
        _keep(part, target)
    except OSError as error:
        raise _wrong(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def check_free(target: Path) -> None:
    if target.exists():
        raise Refused(f"{target} is there already. Choose another name, or move it away.")


class Writer:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.tables: dict[str, Table] = {}

    def table(self, name: str, columns: Sequence[str], lines: Iterable[str]) -> None:
        rows = 0
        with self._archive.open(_member(name), "w", force_zip64=True) as member:
            for line in lines:
                member.write(f"{line}\n".encode())
                rows += 1
        self.tables[name] = Table(columns=columns, rows=rows)

    def file(self, name: str, content: bytes) -> None:
        self._archive.writestr(_file_member(name), content)


class Reader:
    """An opened backup; whatever is wrong with it is one sentence."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path)
            self.manifest = _read_manifest(json.loads(self._archive.read(_MANIFEST)))
        except _UNREADABLE as error:
            raise self.unreadable(error) from error
        if self.manifest.form != FORM:
            raise _wrong(f"{path} was made by a newer version of FABER; install that version")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._archive.close()

    def lines(self, name: str) -> Iterator[bytes]:
        try:
            with self._archive.open(_member(name)) as member:
                yield from member
        except _UNREADABLE as error:
            raise self.unreadable(error) from error

    def file(self, name: str) -> bytes | None:
        """None when the site had no such file."""
        try:
            named = _file_member(name) in self._archive.namelist()
            return self._archive.read(_file_member(name)) if named else None
        except _UNREADABLE as error:
            raise self.unreadable(error) from error

    def unreadable(self, error: Exception) -> Invalid:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "damaged"
        told = why if isinstance(error, OSError) else "it is no backup of FABER, or it is damaged"
        return _wrong(f"{self._path} cannot be read: {told}")


def _read_manifest(told: Mapping[str, Any]) -> Manifest:
    tables = {name: Table(**about) for name, about in told["tables"].items()}
    migrations = [(str(app), str(name)) for app, name in told["migrations"]]
    return Manifest(**{**told, "tables": tables, "migrations": migrations})


def _member(table: str) -> str:
    return f"tables/{table}.jsonl"


def _file_member(name: str) -> str:
    return f"files/{name}"


def _private(path: Path) -> Any:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    return os.fdopen(descriptor, "w+b")


def _keep(part: Path, target: Path) -> None:
    """On the disk before it has its name; a file of that name that came meanwhile is kept."""
    with part.open("rb") as file:
        os.fsync(file.fileno())
    try:
        os.link(part, target)
    except FileExistsError:
        raise Refused(f"{target} is there already. Choose another name.") from None


def _wrong(sentence: str) -> Invalid:
    return Invalid([Problem("", f"{sentence}.")])
