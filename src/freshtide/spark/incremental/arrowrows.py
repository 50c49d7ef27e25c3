"""Rows that are here, as Arrow: which of them have some keys, and what is left when some come and others go.

A job of Spark takes longer than this does with some hundred thousand rows. Missing values are equal to each other, as
in GROUP BY, and so are the two zeros. Values that consist of others cannot be told apart here, which is an
`ArrowNotImplementedError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FEW_BYTES = 32 * 1024 * 1024
"""Of Parquet: so much is read here, and more by Spark."""


def having(rows: pa.Table, columns: Sequence[str], keys: pa.Table) -> Any:
    """Which rows have, in these columns, the values of one of the keys, whose columns are in the same order: a mask."""
    if not columns:
        return np.ones(rows.num_rows, dtype=bool)
    pairs = [(rows.column(name), keys.column(at)) for at, name in enumerate(columns)]
    codes = _codes([pa.chunked_array([*have.chunks, *want.cast(have.type).chunks]) for have, want in pairs])
    return np.isin(codes[: rows.num_rows], codes[rows.num_rows :])


def places_of(rows: pa.Table, others: pa.Table, columns: Sequence[str]) -> pa.Array:
    """For each row the place of the other one, of which there is one at most, that has its values in these columns."""
    if columns:
        pairs = [(rows.column(name), others.column(name)) for name in columns]
        codes = _codes([pa.chunked_array([*have.chunks, *want.cast(have.type).chunks]) for have, want in pairs])
    else:
        codes = np.zeros(rows.num_rows + others.num_rows, dtype=np.int64)
    where = np.full(int(codes.max()) + 1 if len(codes) else 0, -1, dtype=np.int64)
    where[codes[rows.num_rows :]] = np.arange(others.num_rows)
    found = where[codes[: rows.num_rows]]
    return pa.array(found, mask=found < 0)


def left_over(rows: pa.Table, signs: Any, columns: Sequence[str]) -> tuple[pa.Table, Any]:
    """The rows without those that come and go as often, and their signs."""
    codes = _codes([rows.column(name) for name in columns]) if columns else np.zeros(rows.num_rows, dtype=np.int64)
    sums = np.zeros(int(codes.max()) + 1 if len(codes) else 0, dtype=np.int64)
    np.add.at(sums, codes, signs)
    # Of the rows with the sign of the sum, as many as it says.
    order = np.argsort(codes, kind="stable")
    wanted = order[np.sign(sums[codes[order]]) == signs[order]]
    grouped = codes[wanted]
    starts = np.searchsorted(grouped, grouped, side="left")
    chosen = np.sort(wanted[np.arange(len(grouped)) - starts < np.abs(sums[grouped])])
    return rows.take(pa.array(chosen)), signs[chosen]


def _codes(columns: Sequence[pa.ChunkedArray]) -> Any:
    """A number for each row, the same for those that have the same values in all columns."""
    codes: Any = None
    for column in columns:
        if pa.types.is_floating(column.type):
            column = pc.add(column, pa.scalar(0.0, column.type))  # noqa: PLW2901 - one zero instead of two
        encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
        found = _indices(encoded)
        if codes is None:
            codes = found
            continue
        width = int(found.max()) + 1 if len(found) else 1
        _, codes = np.unique(codes * width + found, return_inverse=True)
    return codes


def _indices(encoded: Any) -> Any:
    chunks = encoded.chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]
    parts = [np.asarray(chunk.indices).astype(np.int64) for chunk in chunks]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
