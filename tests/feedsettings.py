"""Feeds from settings side by side, as users write them: tests name those that matter to them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from freshtide.core.feeds import DeclaredRhythm, Feed, FolderSource, Format, RowTime
from freshtide.feeds.formats import CsvFormat

_TIME = {
    "time_column": "column",
    "time_format": "format",
    "time": "expression",
    "lateness": "lateness",
    "future_limit": "future_limit",
}


def feed_of(settings: dict[str, Any]) -> Feed:
    """The feed with these settings: each goes to the part of a feed that it is about. `format` is a class."""
    left = dict(settings)
    options: type[Format] = left.pop("format", CsvFormat)
    time = RowTime(**{name: left.pop(key) for key, name in _TIME.items() if key in left})
    format_ = options(**_taken(left, options))
    rhythm = DeclaredRhythm(**_taken(left, DeclaredRhythm))
    source = left.pop("source", None) or FolderSource(**_taken(left, FolderSource))
    return Feed(time=time, source=source, format=format_, rhythm=rhythm, **left)


def _taken(settings: dict[str, Any], part: type[Any]) -> dict[str, Any]:
    return {field.name: settings.pop(field.name) for field in fields(part) if field.name in settings}
