"""What a project says, as plain values: equal for equal projects, in whatever process they were read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any

from freshtide.core.definitions import words_of
from freshtide.core.tables import FunctionQuery, SqlQuery
from freshtide.project.assembly import Project
from freshtide.project.tables.functions import fingerprint

# Where something is written, and why it is maintained as it is, changes nothing.
_BESIDE_THE_POINT = {"origin", "maintenance_reason"}


def digest_of(project: Project) -> str:
    """Equal for projects that say the same."""
    said = [content(part) for part in (project.settings, project.feeds, dict(project.graph), project.flows)]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def content(value: Any) -> Any:
    """A declaration without its layout, its place and the identity of its functions."""
    if isinstance(value, SqlQuery | FunctionQuery):
        return words_of(value)
    if is_dataclass(value) and not isinstance(value, type):
        said = {
            field.name: content(getattr(value, field.name))
            for field in fields(value)
            if field.compare and field.name not in _BESIDE_THE_POINT
        }
        return {"": type(value).__name__, **said}
    if isinstance(value, Mapping):
        return {str(key): content(item) for key, item in value.items()}
    if isinstance(value, tuple | list | Set):
        items = [content(item) for item in value]
        return sorted(items) if isinstance(value, Set) else items
    if callable(value):
        return fingerprint(value)
    # A StrEnum is the text that users write.
    return value if value is None or isinstance(value, bool | int | float) else str(value)
