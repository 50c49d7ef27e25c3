"""What a log says about all rows of a table: its columns, its partitions, and what a reader must know."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# Types that older readers do not know, with the feature that tells them so.
_FEATURES = {'"timestamp_ntz"': "timestampNtz"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    id: str
    name: str
    created_ms: int
    schema: str
    """In Spark's JSON form."""
    partition_by: tuple[str, ...]
    features: tuple[str, ...]
    configuration: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def new(cls, name: str, *, at: float, schema: str, partition_by: tuple[str, ...]) -> Declaration:
        return cls(
            id=str(uuid.uuid4()),
            name=name,
            created_ms=round(at * 1_000),
            schema=schema,
            partition_by=partition_by,
            features=_needed(schema),
        )

    def changed(self, *, schema: str, partition_by: tuple[str, ...]) -> Declaration:
        """The same table with other columns. What readers had to know before they must know on: old files are there."""
        more = tuple(feature for feature in _needed(schema) if feature not in self.features)
        return replace(self, schema=schema, partition_by=partition_by, features=self.features + more)

    def actions_after(self, before: Declaration | None) -> tuple[dict[str, Any], ...]:
        """How an entry of the log says it, where something else was said before."""
        if self == before:
            return ()
        if before is not None and before.features == self.features:
            return (self._metadata(),)
        return (self._protocol(), self._metadata())

    def _protocol(self) -> dict[str, Any]:
        if not self.features:
            return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
        named = {"readerFeatures": list(self.features), "writerFeatures": list(self.features)}
        return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **named}}

    def _metadata(self) -> dict[str, Any]:
        return {
            "metaData": {
                "id": self.id,
                "name": self.name,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": self.schema,
                "partitionColumns": list(self.partition_by),
                "createdTime": self.created_ms,
                "configuration": dict(self.configuration),
            }
        }


def _needed(schema: str) -> tuple[str, ...]:
    return tuple(feature for kind, feature in _FEATURES.items() if kind in schema)
