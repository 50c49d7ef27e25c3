"""Tables of TPC-H as sources of a flow."""

from __future__ import annotations

from freshtide.core.errors import UsageError
from freshtide.flows.builder import Flow, Rows


def source(flow: Flow, data: str, table: str) -> Rows:
    """The rows of a table of TPC-H."""
    return flow.read(files=f"{data}/{table}.parquet", name=table)


def soiled(rows: Rows, key: str, *, selectivity: float, name: str) -> Rows:
    """Rows of which only this share has kept its key, for a check to find: TPC-H itself is clean.

    Which ones hangs on the key alone, so that every run and every engine finds the same.
    """
    if not 0.0 <= selectivity <= 1.0:
        raise UsageError(f"{selectivity:g} is no share of the rows.", way_out="Choose one from 0 to 1.")
    if selectivity == 1.0:
        return rows
    return rows.expression({key: f"IF({key} % 100 < {round(100 * selectivity)}, {key}, NULL)"}, name=name)
