"""Whether what a flow writes into a table is something else than what the table holds.

A dimension is written as a whole at each run, and on most days nothing has changed in it. Views that read it are
computed anew when it says that it has changed, so it had better not say so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from freshtide.spark.incremental import FEW_BYTES, left_over
from freshtide.storage import DataFile, Snapshot, stored_rows


def holds_other_rows(before: Snapshot, files: Sequence[DataFile], schema: pa.Schema) -> bool:
    """Whether these files, which take the place of all that a table holds, have other rows; True where nobody looks.

    It is looked at what is small, and at what Arrow can tell apart.
    """
    rows = sum(file.rows for file in files)
    same_columns = [(field.name, field.type) for field in before.schema] == [
        (field.name, field.type) for field in schema
    ]
    if rows != before.rows or not same_columns or before.lost():
        return True
    if before.partition_by or max(before.size, sum(file.size for file in files)) > FEW_BYTES:
        return True
    held, written = stored_rows(before, before.files), stored_rows(before, tuple(files))
    signs = np.repeat(np.array([-1, 1], dtype=np.int64), [held.num_rows, written.num_rows])
    try:
        left, _ = left_over(pa.concat_tables([held, written]), signs, held.column_names)
    except pa.ArrowNotImplementedError:
        return True
    return bool(left.num_rows)
