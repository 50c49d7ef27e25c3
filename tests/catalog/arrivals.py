"""Files as they arrive, for the tests of this folder."""

from __future__ import annotations

from typing import Any

from freshtide.core.arrivals import Arrival, ArrivalState


def a_file(path: str = "/in/a.csv", **changes: Any) -> Arrival:
    settings: dict[str, Any] = {
        "feed": "cpu",
        "position": path,
        "digest": f"{abs(hash(path)):064d}"[-64:],
        "size": 10,
        "modified_ns": 1_777_000_000_123_456_789,
        "arrived_at": 100.5,
        "state": ArrivalState.READY,
        "timestamp": 90.25,
        "rows": 3,
    }
    return Arrival(**(settings | changes))
