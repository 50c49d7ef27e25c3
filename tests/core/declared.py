"""Tables and feeds for the tests of this folder, written once."""

from __future__ import annotations

from typing import Any

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.feeds import Column, Feed
from freshtide.core.tables import SqlQuery, Table
from tests.feedsettings import feed_of


def sql(text: str) -> SqlQuery:
    return SqlQuery(text=text, references=())


def base(name: str, **changes: Any) -> Table:
    settings: dict[str, Any] = {"name": name, "query": sql(f"SELECT * FROM {name}_feed"), "feed": f"{name}_feed"}
    return Table(**(settings | {"time_column": "time"} | changes))


def view(name: str, *sources: str, **changes: Any) -> Table:
    settings: dict[str, Any] = {
        "name": name,
        "query": sql(f"SELECT * FROM {', '.join(sources)}"),
        "sources": sources,
        "time_column": "time",
    }
    return Table(**(settings | changes))


def feed(**changes: Any) -> Feed:
    settings: dict[str, Any] = {
        "name": "cpu_feed",
        "path": "landing/*.csv",
        "schema": (Column(name="time", type="timestamp"),),
        "time_column": "time",
    }
    return feed_of(settings | changes)


def arrived(number: int, timestamp: float | None, *, mark: bool = False, path: str | None = None) -> Arrival:
    """The file that came as the given one in the order of arrival."""
    return Arrival(
        feed="cpu_feed",
        position=path or f"/landing/{number:04d}",
        digest=f"{number:064d}",
        size=1,
        modified_ns=1,
        arrived_at=float(number),
        state=ArrivalState.PUNCTUATION if mark else ArrivalState.READY,
        id=number,
        timestamp=timestamp,
        rows=1,
    )
