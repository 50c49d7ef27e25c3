"""Rows as the bytes of a file; the same rows give the same bytes."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

Row = Sequence[object]


def csv_bytes(rows: Iterable[Row], *, header: str | None = None, delimiter: str = ",") -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    if header is not None:
        writer.writerow(header.split())
    writer.writerows(rows)
    return text.getvalue().encode()


def gzip_bytes(content: bytes) -> bytes:
    # Without a time of its own, which gzip would put in.
    return gzip.compress(content, mtime=0)


def json_line(record: Mapping[str, object]) -> str:
    return json.dumps(record, separators=(",", ":"))


def lines_bytes(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def parquet_bytes(rows: Sequence[Row], schema: pa.Schema) -> bytes:
    columns = [pa.array(values, type=field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, schema=schema), sink)
    return bytes(sink.getvalue())
