"""Values of partition columns: as the Delta log writes them, and as names of folders, which is where Spark reads them.

Folders are named as Spark names them, whoever writes: it takes `%C3%A9` for two characters and not for an é.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from freshtide.storage.errors import UnstorableError
from freshtide.storage.values.years import within_years

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
ESCAPED = r"""[\x01-\x1F"#%'*/:=?\\\x7F{\[\]^]"""
"""The characters that stand as %XX in the name of a folder, as a regular expression to Python and to Java."""
LONGEST_NAME = 255
"""Bytes of a file name, on all common file systems."""
LIKE_MISSING = ("", NULL_FOLDER)
"""Texts that Delta or Spark takes for a missing value."""
TOO_LONG = "is too long for the name of a partition's folder"
LIKE_NONE = "cannot be told from a missing value in a partition column"
NO_NAME = "cannot be in the name of a partition's folder"

_ESCAPED = re.compile(ESCAPED)


def by_partition(rows: pa.Table, partition_by: tuple[str, ...]) -> Iterator[tuple[Mapping[str, str | None], pa.Table]]:
    """The rows of each partition without the partition columns; no rows, no partition."""
    if not rows.num_rows:
        return
    if not partition_by:
        yield {}, rows
        return
    # Rows are taken by their place, not compared with the key again: a NaN would equal nothing.
    keys = rows.select(partition_by).rename_columns([f"key{place}" for place in range(len(partition_by))])
    placed = keys.append_column("place", pa.array(range(rows.num_rows), pa.int64()))
    groups = placed.group_by(keys.column_names, use_threads=False).aggregate([("place", "list")])
    for group in within_years(groups.to_pylist, partition_by):
        part = rows.take(pa.array(group["place_list"], pa.int64())).drop_columns(list(partition_by))
        values = {name: serialised(group[key]) for name, key in zip(partition_by, keys.column_names, strict=True)}
        for name, value in values.items():
            _require_nameable(name, value)
        yield values, part


def serialised(value: Any) -> str | None:
    """A partition value as the Delta protocol writes it."""
    match value:
        case None | str():
            return value
        case bool():
            written = str(value).lower()
        case datetime():
            # Not by strftime, which writes the year 1 without zeros.
            written = value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        case date():
            written = value.isoformat()
        case Decimal():
            written = f"{value:f}"
        case float() if not math.isfinite(value):
            # As Java spells it: Spark does not know Python's `inf` and `nan` here.
            written = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case int() | float():
            written = str(value)
        case _:
            raise UnstorableError(f"A value of {type(value).__name__} cannot be the value of a partition.")
    return written


def folder_of(values: Mapping[str, str | None]) -> str:
    """The relative path of a partition's folder, with a slash at its end."""
    return "".join(f"{_folder_name(name, value)}/" for name, value in values.items())


def value_of(folder: str) -> str | None:
    """The value that a folder is named after."""
    value = folder.partition("=")[2]
    return None if value == NULL_FOLDER else unquote(value)


def _require_nameable(column: str, value: str | None) -> None:
    if value is None:
        return
    fault = TOO_LONG if len(_folder_name(column, value).encode()) > LONGEST_NAME else None
    fault = LIKE_NONE if value in LIKE_MISSING else NO_NAME if "\0" in value else fault
    if fault is not None:
        raise UnstorableError(f"'{value[:80]}' in column '{column}' {fault}.")


def _folder_name(column: str, value: str | None) -> str:
    return f"{_escaped(column)}={NULL_FOLDER if value is None else _escaped(value)}"


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)
