"""Writing arrivals down: a file keeps its row, and with that its place in the order of arrival."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlalchemy import Connection, RowMapping, bindparam, delete, insert, select, update

from freshtide.catalog.rows import values_of
from freshtide.catalog.schema import files, loads, refusals
from freshtide.core.arrivals import LOADABLE, Arrival

# Databases limit how many values a statement may name.
_PORTION = 1_000
ValueT = TypeVar("ValueT")

_ADD = insert(files).returning(files.c.id, sort_by_parameter_order=True)
_CHANGE = update(files).where(files.c.id == bindparam("its_id"))
_KNOWN = select(files.c.id, files.c.path, files.c.sha256, files.c.arrived_at).where(
    files.c.feed == bindparam("feed"), files.c.path.in_(bindparam("paths", expanding=True))
)
_CONTENTS = select(files.c.id, files.c.sha256).where(files.c.id.in_(bindparam("ids", expanding=True)))
_ACCEPT = delete(refusals).where(refusals.c.feed == bindparam("feed"), refusals.c.path == bindparam("path"))
_ADD_LOADS = insert(loads)
_OF_TABLE = loads.c.table_name == bindparam("of_table")
_THESE = loads.c.file_id.in_(bindparam("ids", expanding=True))
_MARK = update(loads).where(_OF_TABLE, _THESE).values(sha256=None)
_MARKED = select(loads.c.file_id).where(_OF_TABLE, _THESE)
_NOTE_CONTENT = update(loads).where(_OF_TABLE, loads.c.file_id == bindparam("its_id"))
_LOADS_OF = select(loads.c.table_name, loads.c.file_id).where(_THESE)
_LOADED = update(loads).where(loads.c.file_id == bindparam("its_id"), loads.c.number.is_not(None))
_NOTE_FORMER_CONTENT = _LOADED.where(loads.c.sha256.is_(None))
_NOTE_SAME_CONTENT = _LOADED.where(loads.c.sha256 == bindparam("registered")).values(sha256=None)


def portions(values: Sequence[ValueT]) -> Iterator[Sequence[ValueT]]:
    return (values[start : start + _PORTION] for start in range(0, len(values), _PORTION))


def write_arrivals(connection: Connection, arrivals: Sequence[tuple[Arrival, tuple[str, ...]]]) -> list[Arrival]:
    """Remember files, each with the tables that are to load it; they come back with their ids.

    A path that is known keeps its id and its moment of arrival: what was promised by then decides whether its rows are
    late. What tables have loaded stays loaded, and is told apart from the new content if that is another.
    """
    known = _known(connection, [file for file, _ in arrivals])
    new = [file for file, _ in arrivals if (file.feed, file.position) not in known]
    ids: dict[tuple[str, str], int] = {}
    if new:
        inserted = connection.scalars(_ADD, [values_of(file, files) for file in new]).all()
        ids = {(file.feed, file.position): number for file, number in zip(new, inserted, strict=True)}
    registered = [
        replace(file, id=ids[file.feed, file.position])
        if (file.feed, file.position) in ids
        else _write_over(connection, known[file.feed, file.position], file)
        for file, _ in arrivals
    ]
    _make_pending(
        connection,
        [(file, tables) for file, (_, tables) in zip(registered, arrivals, strict=True)],
        new=frozenset(ids.values()),
    )
    return registered


def write_loaded(connection: Connection, table: str, file_ids: Sequence[int], number: int) -> None:
    """The table has loaded these files, even those that it was not known to wait for."""
    own = {"of_table": table, "ids": file_ids}
    written = connection.execute(_MARK, {**own, "number": number}).rowcount
    if written == len(set(file_ids)):
        return
    unknown = set(file_ids).difference(connection.scalars(_MARKED, own))
    rows = [{"table_name": table, "file_id": file_id, "number": number} for file_id in sorted(unknown)]
    connection.execute(_ADD_LOADS, rows)


def note_other_contents(connection: Connection, table: str, contents: Mapping[int, str]) -> None:
    """Where other content is registered by now than the table has loaded, write down what it has loaded."""
    for some in portions(list(contents)):
        for row in connection.execute(_CONTENTS, {"ids": some}).all():
            if row.sha256 != contents[row.id]:
                own = {"of_table": table, "its_id": row.id}
                connection.execute(_NOTE_CONTENT, {**own, "sha256": contents[row.id]})


def _known(connection: Connection, arrived: Sequence[Arrival]) -> dict[tuple[str, str], RowMapping]:
    """The records of the paths that were there before, by feed and path."""
    found: dict[tuple[str, str], RowMapping] = {}
    for feed in dict.fromkeys(file.feed for file in arrived):
        for some in portions([file.position for file in arrived if file.feed == feed]):
            rows = connection.execute(_KNOWN, {"feed": feed, "paths": some}).mappings()
            found.update(((feed, row["path"]), row) for row in rows)
    return found


def _write_over(connection: Connection, known: RowMapping, file: Arrival) -> Arrival:
    """Whatever was refused under the name of a file lies there no longer, or is taken now.

    A file that comes with its id was seen again, and is what it was: what became of it meanwhile stays.
    """
    values = {"size": file.size, "modified_ns": file.modified_ns} if file.id else values_of(file, files)
    file = replace(file, id=known["id"], arrived_at=known["arrived_at"])
    own = {"its_id": file.id}
    connection.execute(_CHANGE, {**values, **own, "arrived_at": file.arrived_at})
    connection.execute(_ACCEPT, {"feed": file.feed, "path": file.position})
    if file.digest != known["sha256"]:
        connection.execute(_NOTE_FORMER_CONTENT, {**own, "sha256": known["sha256"]})
        connection.execute(_NOTE_SAME_CONTENT, {**own, "registered": file.digest})
    return file


def _make_pending(
    connection: Connection, registered: Sequence[tuple[Arrival, tuple[str, ...]]], *, new: frozenset[int]
) -> None:
    """Let tables wait for the files that they do not know yet; of those that are new none knows."""
    loadable = [(file, tables) for file, tables in registered if file.state in LOADABLE]
    known: set[tuple[str, int]] = set()
    for some in portions([file.id for file, _ in loadable if file.id not in new]):
        known.update((row.table_name, row.file_id) for row in connection.execute(_LOADS_OF, {"ids": some}))
    pending = [
        {"table_name": table, "file_id": file.id, "number": None}
        for file, tables in loadable
        for table in tables
        if (table, file.id) not in known
    ]
    if pending:
        connection.execute(_ADD_LOADS, pending)
