"""Changes of a project on their way into a run.

They are prepared on a thread of their own, since Spark looks at every query. Then the thread that looks for files takes
them up between two looks, so that no file falls between the tables of before and after; and the engine hands over
between two decisions. Until it does, all is as it was.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection
from functools import partial

from freshtide.catalog import Request, RequestKind, RequestQueue
from freshtide.core.errors import FreshtideError, SurroundingsError
from freshtide.project import digest_of
from freshtide.runtime.arrangements import Arrangement, Prepared, Successor
from freshtide.runtime.owing import Owed
from freshtide.runtime.projectwatch import ProjectWatch
from freshtide.runtime.rearranging import Rearranging, StillRunningError
from freshtide.runtime.watching import Surroundings
from freshtide.world import Task, Threads

_logger = logging.getLogger(__name__)
NOTHING_CHANGES = "The warehouse runs as its project says already: nothing changes."


class ChangedMeanwhileError(FreshtideError):
    """A project that is not what somebody has agreed to."""


class Applying:
    """At most one change at a time is under way."""

    def __init__(
        self,
        rearranging: Rearranging,
        current: Arrangement,
        *,
        requests: RequestQueue,
        owed: Owed,
        surroundings: Surroundings,
        threads: Threads,
        take_up: Callable[[Successor], None],
        leaving: Callable[[], Collection[str]],
        tell: Callable[[str], None],
        watch: ProjectWatch | None = None,
    ) -> None:
        """`take_up` is called on the thread that looks for files; `leaving` are units taken out before that still run.

        With a `watch` changes of the project's files take effect by themselves. `tell` hears of all that do.
        """
        self._rearranging = rearranging
        self._current = current
        self._requests = requests
        self._owed = owed
        self._watch = watch
        self._surroundings = surroundings
        self._threads = threads
        self._take_up = take_up
        self._leaving = leaving
        self._tell = tell
        self._request: Request | None = None
        self._prepared: Prepared | None = None
        """Waits for the next look for files."""
        self.successor: Successor | None = None
        """What the engine is to hand over to, and then say so."""
        self.is_under_way = False
        self._task: Task | None = None
        self._refused: str | None = None
        """What was last told about changes that nobody asked for."""

    def ask(self, request: Request) -> None:
        """Somebody wants to know what would change, or to have it changed; on the thread that looks for files."""
        if self.is_under_way:
            told = "Another change is just taking effect. Ask again."
            self._owed.add(partial(self._requests.finish, request.id, told, succeeded=False))
        else:
            self._begin(request)

    def _begin(self, request: Request | None) -> None:
        """Prepare what the project says now."""
        self.is_under_way, self._request = True, request
        self._task = self._threads.spawn(self._prepare, name="apply")

    def stop(self) -> None:
        """The run ends. What was asked for and is not done yet is found by the next one, which has read the project."""
        if self._task is not None:
            self._task.join()

    def look(self) -> None:
        """Take up what has been prepared, on the thread that looks for files; a SurroundingsError leaves it there."""
        prepared = self._prepared
        if prepared is None:
            if self._watch is not None and not self.is_under_way and self._watch.has_changed():
                self._begin(None)
            return
        try:
            successor = self._rearranging.settle(prepared, self._current)
        except SurroundingsError:
            raise
        except Exception as error:
            _logger.exception("The changes could not be taken up.")
            self._prepared = None
            self._end(str(error), succeeded=False)
            return
        self._prepared, self._current = None, successor.arrangement
        # Before anything is announced to tables that the engine would not know.
        self.successor = successor
        self._take_up(successor)

    def done(self, successor: Successor) -> None:
        """The engine has handed over."""
        self.successor = self._refused = None
        self._end(f"Changed: {successor.changes.summary}.")

    def _prepare(self) -> None:
        request = self._request
        try:
            prepare = partial(self._rearranging.prepare, self._current, leaving=self._leaving())
            prepared = self._surroundings.insist(prepare)
            if request is not None and request.kind is RequestKind.PLAN:
                self._end(json.dumps(prepared.changes.as_json()))
                return
            if request is not None and request.target != digest_of(prepared.arrangement.project):
                raise ChangedMeanwhileError(
                    "The files of the project are not what they were when the changes were shown.",
                    way_out="`freshtide apply` shows what would change now.",
                )
            if prepared.changes:
                self._prepared = prepared
            elif request is None:
                self.is_under_way, self._refused = False, None
            else:
                self._end(NOTHING_CHANGES)
        except Exception as error:
            if not isinstance(error, FreshtideError):
                _logger.exception("The changes could not be prepared.")
            if isinstance(error, StillRunningError) and request is None and self._watch is not None:
                self._watch.look_again()
            self._end(str(error), succeeded=False)

    def _end(self, message: str, *, succeeded: bool = True) -> None:
        """Tell whoever asked, or everybody where nobody has."""
        request, self._request = self._request, None
        self.is_under_way = False
        if request is not None:
            self._owed.add(partial(self._requests.finish, request.id, message, succeeded=succeeded))
        if request is None or request.kind is RequestKind.APPLY:
            self._tell_all(message, succeeded=succeeded, was_asked=request is not None)

    def _tell_all(self, message: str, *, succeeded: bool, was_asked: bool) -> None:
        if succeeded:
            self._tell(message)
        elif not was_asked and message != self._refused:
            self._refused = message
            self._tell(f"The project cannot take effect as it is, and the warehouse runs as before: {message}")
