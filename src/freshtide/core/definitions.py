"""Fingerprints of table definitions: equal fingerprints, equal content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from freshtide.core.tables import FunctionQuery, Table


def fingerprints(tables: Mapping[str, Table]) -> dict[str, str]:
    """A fingerprint per table, in an order where sources come first.

    A derived table's covers the derived tables below it, since a change of theirs changes its content. A base
    table's content comes from files and stays when dependents or feeds change, so it covers its own query only.
    """
    found: dict[str, str] = {}
    for name, table in tables.items():
        query = table.query
        text = query.fingerprint if isinstance(query, FunctionQuery) else " ".join(query.text.split())
        parts = [text, table.time_column, str(table.emit), str(table.grain), list(table.partition_by)]
        below = [found[source] for source in table.sources if not tables[source].is_base]
        found[name] = hashlib.sha256(json.dumps([parts, below]).encode()).hexdigest()[:16]
    return found
