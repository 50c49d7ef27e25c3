"""What users ask of a run from another terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import bindparam, delete, insert, select, update

from freshtide.catalog.database import Database
from freshtide.catalog.schema import requests
from freshtide.core.errors import FreshtideError
from freshtide.world import SystemClock

_LOOK_EVERY = 0.1
_CLOCK = SystemClock()
# The message of a request until there is an answer: nothing at first, and this once a run has begun with it.
_TAKEN_UP = ""


class NoAnswerError(FreshtideError):
    """A run that does not take up a request."""


class RequestKind(StrEnum):
    BACKFILL = "backfill"
    CANCEL = "cancel"
    """Not go on with a backfill."""
    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"
    """Take up a file that was put aside."""
    SKIP = "skip"
    """Go on without a file that is away."""
    ACCEPT = "accept"
    """Let the new content of a file take the place of the old."""
    PLAN = "plan"
    """Tell what a run would change to be what the files of its project say now."""
    APPLY = "apply"
    """Change that, if it is still what somebody was told."""

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


_ADD = insert(requests)
_IT = requests.c.id == bindparam("request_id")
_IS_OPEN = requests.c.done.is_(False)
_OPEN_AFTER = select(requests).where(requests.c.id > bindparam("last_id"), _IS_OPEN).order_by(requests.c.id)
_GET = select(requests).where(_IT)
_TAKE_UP = update(requests).where(_IT, _IS_OPEN).values(message=_TAKEN_UP)
_WITHDRAW = delete(requests).where(_IT, _IS_OPEN, requests.c.message.is_(None))
_FINISH = update(requests).where(_IT)


class RequestQueue:
    """Requests in the order they were made."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, kind: RequestKind, target: str, *, at: float) -> int:
        with self._database.writing() as connection:
            values = {"kind": kind, "target": target, "created_at": at, "done": False, "message": None}
            result = connection.execute(_ADD, values)
            assert result.inserted_primary_key is not None
            return int(result.inserted_primary_key[0])

    def open_after(self, last_id: int) -> list[Request]:
        """Requests not done yet that came after one."""
        with self._database.reading() as connection:
            rows = connection.execute(_OPEN_AFTER, {"last_id": last_id}).mappings()
            return [Request(**{**row, "kind": RequestKind(row["kind"])}) for row in rows]

    def get(self, request_id: int) -> Request | None:
        with self._database.reading() as connection:
            row = connection.execute(_GET, {"request_id": request_id}).mappings().first()
            return None if row is None else Request(**{**row, "kind": RequestKind(row["kind"])})

    def is_done(self, request_id: int) -> bool:
        request = self.get(request_id)
        return request is not None and request.done

    def take_up(self, request_id: int) -> bool:
        """Begin with a request; false if whoever asked has withdrawn it."""
        with self._database.writing() as connection:
            return connection.execute(_TAKE_UP, {"request_id": request_id}).rowcount == 1

    def withdraw(self, request_id: int) -> bool:
        """Ask no more; false if a run has begun with it."""
        with self._database.writing() as connection:
            return connection.execute(_WITHDRAW, {"request_id": request_id}).rowcount == 1

    def wait_for(
        self,
        request_id: int,
        *,
        longest: float | None = None,
        taken_up_within: float | None = None,
        going_on: Callable[[], bool] = lambda: True,
        starting: Callable[[], bool] = lambda: False,
    ) -> Request:
        """Wait until a request has been answered by the run that takes it up, for as long as that is `going_on`.

        At most `longest`, or for as long as it takes a run that has begun with it within `taken_up_within`. While it is
        `starting` it can answer nobody, and none of that time counts.
        A request that is not waited for any more is withdrawn: nobody is surprised by it later.
        """
        until = begun_by = None
        counts = False
        try:
            while True:
                if not counts and not starting():
                    counts, began = True, _CLOCK.steady()
                    until = None if longest is None else began + longest
                    begun_by = None if taken_up_within is None else began + taken_up_within
                # Asked first: a run that ends answers before.
                there = going_on()
                request = self.get(request_id)
                if request is not None and request.done:
                    return request
                if not there:
                    raise self._left_behind(request_id, request)
                if until is not None and _CLOCK.steady() > until:
                    raise self._no_answer(request_id)
                if begun_by is not None and _CLOCK.steady() > begun_by:
                    if self.withdraw(request_id):
                        raise _not_taken_up()
                    begun_by = None
                time.sleep(_LOOK_EVERY)
        finally:
            self.withdraw(request_id)

    def _left_behind(self, request_id: int, request: Request | None) -> NoAnswerError:
        told = "The run has ended without an answer."
        if self.withdraw(request_id) or request is None or request.kind is not RequestKind.BACKFILL:
            return NoAnswerError(told, way_out="Ask again.")
        way_out = f"The next run takes the backfill up; `freshtide backfill {request.target} --cancel` drops it."
        return NoAnswerError(told, way_out=way_out)

    def _no_answer(self, request_id: int) -> NoAnswerError:
        if self.withdraw(request_id):
            return _not_taken_up()
        return NoAnswerError(
            "The run has begun with it and is not done yet.", way_out="`freshtide status` shows what it does."
        )

    def finish(self, request_id: int, message: str, *, succeeded: bool = True) -> None:
        with self._database.writing() as connection:
            values = {"done": True, "message": message, "succeeded": succeeded}
            connection.execute(_FINISH, {**values, "request_id": request_id})


def _not_taken_up() -> NoAnswerError:
    return NoAnswerError(
        "The run does not answer, and nothing was done.",
        way_out="Is it still alive, and does it use the same `catalog`? `freshtide status` shows what it does.",
    )
