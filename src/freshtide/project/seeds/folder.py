"""The files in seeds/: `NAME.csv` is the reference table NAME, and `NAME.yml` beside it what is to be otherwise."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field

from freshtide.core.errors import Origin, Problem, ProjectError, suggestion
from freshtide.project.declarations import Declarations, DeclaredTable
from freshtide.project.feeds.feedfile import read_feed
from freshtide.project.notation.names import name_fault, relative_name
from freshtide.project.notation.validation import Place, Written, check
from freshtide.project.notation.variables import filled_in
from freshtide.project.notation.yamlfile import read_yaml
from freshtide.project.seeds.types import inferred_type
from freshtide.project.tables.properties import Properties
from freshtide.sql import TableKind, parse_query

SEEDS = "seeds"
_SETTINGS = (".yml", ".yaml")
# What is larger is not reference data that somebody keeps beside a project, and it is read whenever that is loaded.
LARGEST = 8_000_000
_LARGEST_TOLD = "8 MB"


class SeedError(Exception):
    """A file that no table can be made of: what is wrong, and the way out."""

    def __init__(self, message: str, way_out: str) -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out


class _WrittenSeed(Written):
    # Only the columns whose types are not to be those that are found.
    types: dict[str, Any] = Field(alias="schema", default_factory=dict)
    delimiter: str = ","
    null_value: str = ""
    comment: str | None = None


def seed_files(root: Path) -> list[Path]:
    """The files of a project's seeds, and what is said about them."""
    folder = root / SEEDS
    return sorted(path for path in folder.glob("*") if path.suffix in (".csv", *_SETTINGS) and path.is_file())


def declare_seeds(folder: Path, root: Path, declarations: Declarations) -> None:
    """Declare a table for each seed; `folder` has the files of the project, whose own folder is `root`."""
    files = seed_files(folder)
    names = {path.stem for path in files if path.suffix == ".csv"}
    for path in files:
        if path.suffix == ".csv":
            _declare(path, folder, root, declarations)
        elif path.stem not in names:
            message = f"There is no seed '{path.stem}.csv' beside this file."
            origin = Origin(file=relative_name(path, folder))
            way_out = "Put the rows beside it, or delete it."
            declarations.reject([Problem(message=message, origin=origin, way_out=way_out)])


def _declare(path: Path, folder: Path, root: Path, declarations: Declarations) -> None:
    name, origin = path.stem, Origin(file=relative_name(path, folder), line=1)
    fault = name_fault(name)
    if fault is not None:
        declarations.reject([Problem(message=fault[0], origin=origin, way_out=fault[1])])
        return
    written, place, problems = _settings(path, folder, root)
    if written is None:
        declarations.reject(problems, names=[name])
        return
    try:
        schema, is_multiline = _schema(path, written)
    except SeedError as error:
        declarations.reject([Problem(message=error.message, origin=origin, way_out=error.way_out)], names=[name])
        return
    values = {
        "name": name,
        "path": f"{SEEDS}/{path.name}",
        "format": "csv",
        "content": "newest",
        "schema": schema,
        "delimiter": written.delimiter,
        "null_value": written.null_value,
        "multiline": is_multiline,
    }
    feed, problems = read_feed(values, lambda keys: place(keys) if keys[:1] == ("schema",) else origin)
    if feed is None:
        declarations.reject(problems, names=[name])
        return
    # Under a name that no feed of a user can have: the table is what is called like the file.
    feed = replace(feed, name=f"{SEEDS}/{name}", origin=origin)
    declarations.add_feed(feed)
    declarations.add_table(
        DeclaredTable(
            name=name,
            kind=TableKind.STREAMING_TABLE,
            query=parse_query(f"SELECT * FROM STREAM `{feed.name}`"),
            properties=Properties(comment=written.comment),
            origin=origin,
        )
    )


def _settings(path: Path, folder: Path, root: Path) -> tuple[_WrittenSeed | None, Place, list[Problem]]:
    """What is said about a seed, and where; nothing has to be."""
    beside = (path.with_suffix(ending) for ending in _SETTINGS)
    said = next((found for found in beside if found.is_file()), None)
    if said is None:
        own = Origin(file=relative_name(path, folder), line=1)
        return _WrittenSeed(), lambda _: own, []
    origin = Origin(file=relative_name(said, folder))
    try:
        file = filled_in(read_yaml(said, folder), root)
    except ProjectError as error:
        return None, lambda _: origin, list(error.problems)
    written, problems = check(_WrittenSeed, file.value, file.origin)
    return written, file.origin, problems


def _schema(path: Path, written: _WrittenSeed) -> tuple[Mapping[str, Any], bool]:
    """The columns with their types, and whether values go over several lines."""
    if len(written.delimiter) != 1:
        raise SeedError("The delimiter of a seed is one character.", 'Write it like ";" or "\\t".')
    header, *rows = _records(path, written.delimiter)
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise SeedError(
                f"Row {number} of the seed has {len(row)} values, and its header {len(header)}.",
                "Mend the row: a value with a comma in it stands in quotes.",
            )
    found = {
        column: inferred_type("" if row[place] == written.null_value else row[place] for row in rows)
        for place, column in enumerate(header)
    }
    if len(found) < len(header):
        raise SeedError("The header of the seed names a column twice.", "Name each column once.")
    for column in written.types:
        if column not in found:
            raise SeedError(
                f"{path.with_suffix('.yml').name} gives a type to '{column}', which is no column of the seed.",
                suggestion(column, found),
            )
    return {**found, **written.types}, any("\n" in value or "\r" in value for row in rows for value in row)


def _records(path: Path, delimiter: str) -> list[list[str]]:
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise SeedError(
                f"The seed holds {size / 1e6:.1f} MB, and {_LARGEST_TOLD} are the most: it is read whenever the "
                "project is.",
                "Move it to a folder of its own and declare a feed for it, with `content: newest` and no time_column.",
            )
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise SeedError("The seed is not UTF-8 text.", "Save it as UTF-8, or declare a feed with `encoding`.") from None
    except OSError as error:
        raise SeedError(f"The seed cannot be read: {error}.", "Make it readable.") from error
    try:
        records = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
    except csv.Error as error:
        raise SeedError(f"The seed is not CSV: {error}.", "Mend its quotes.") from error
    if not records:
        raise SeedError("The seed is empty.", "Write a line with the names of the columns first.")
    return records
