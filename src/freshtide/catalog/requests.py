"""What users ask of a run from another terminal."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Engine, insert, select, update

from freshtide.catalog.schema import requests
from freshtide.core.errors import FreshtideError

_LOOK_EVERY = 0.1


class NoAnswerError(FreshtideError):
    """A run that does not take up a request."""


class RequestKind(StrEnum):
    BACKFILL = "backfill"
    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"
    """Take up a file that was put aside."""
    SKIP = "skip"
    """Go on without a file that is away."""
    ACCEPT = "accept"
    """Let the new content of a file take the place of the old."""

    @property
    def is_about_a_file(self) -> bool:
        return self in (RequestKind.RETRY, RequestKind.SKIP, RequestKind.ACCEPT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Something to do, for a table or a file."""

    id: int
    kind: RequestKind
    target: str
    created_at: float
    done: bool = False
    succeeded: bool = True
    message: str | None = None


class RequestQueue:
    """Requests in the order they were made."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, kind: RequestKind, target: str, *, at: float) -> int:
        with self._engine.begin() as connection:
            result = connection.execute(
                insert(requests).values(kind=kind, target=target, created_at=at, done=False, message=None)
            )
            assert result.inserted_primary_key is not None
            return int(result.inserted_primary_key[0])

    def open_after(self, last_id: int) -> list[Request]:
        """Requests not done yet that came after one."""
        query = select(requests).where(requests.c.id > last_id, requests.c.done.is_(False))
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(requests.c.id)).mappings()
            return [Request(**{**row, "kind": RequestKind(row["kind"])}) for row in rows]

    def get(self, request_id: int) -> Request | None:
        with self._engine.connect() as connection:
            row = connection.execute(select(requests).where(requests.c.id == request_id)).mappings().first()
            return None if row is None else Request(**{**row, "kind": RequestKind(row["kind"])})

    def is_done(self, request_id: int) -> bool:
        request = self.get(request_id)
        return request is not None and request.done

    def wait_for(self, request_id: int, *, longest: float | None = None) -> Request:
        """Wait until a request has been answered by the run that takes it up."""
        waited = 0.0
        while True:
            request = self.get(request_id)
            if request is not None and request.done:
                return request
            if longest is not None and waited > longest:
                raise NoAnswerError(
                    "The run does not answer.", way_out="Is it still alive? `freshtide status` shows what it does."
                )
            time.sleep(_LOOK_EVERY)
            waited += _LOOK_EVERY

    def finish(self, request_id: int, message: str, *, succeeded: bool = True) -> None:
        with self._engine.begin() as connection:
            connection.execute(
                update(requests)
                .where(requests.c.id == request_id)
                .values(done=True, message=message, succeeded=succeeded)
            )
