"""A computer that stands in for Spark: it reads files, computes queries and writes Parquet, slowly, and not always.

What it writes lies beside the logs of real tables until the real protocol commits it. It is asked for the steps that
the real runtime asks Spark for, and answers as late, or fails, as its temper says. It may die: then it does nothing
until somebody starts it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from faults.loading import Loading
from faults.refreshing import Refreshing
from faults.tables import project
from freshtide.core.arrivals import Arrival
from freshtide.core.definitions import FormerRows, fingerprints
from freshtide.core.errors import FreshtideError, SurroundingsError
from freshtide.core.feeds import Column
from freshtide.core.instants import micros
from freshtide.core.steps import ComputedStep, Load, Refresh
from freshtide.latest import LatestQueue
from freshtide.runs import Places
from freshtide.runtime.unchanged import watched
from freshtide.runtime.watching import Check
from freshtide.spark import LatestStreams, Listeners, SharedScans, SparkEndedError
from freshtide.spark.latest.tables import LatestTables
from freshtide.storage import Prepared, Store, finish_interrupted, is_unfinished, journal_folder
from freshtide.world import Clock, Threads

_HANGS_FOR = 40.0
_STARTS_IN = 3.0


class ComputingFailedError(FreshtideError):
    """The computer has had enough of an update."""


@dataclass(slots=True, kw_only=True)
class Temper:
    """How long steps take, and how often they fail."""

    rng: Random
    slowness: float = 0.5
    """Seconds that a part of a step takes on average."""
    hangs: float = 0.0
    """The share of the parts of steps that take far longer."""
    failures: float = 0.0
    """The share of those that fail."""
    deaths: float = 0.0
    """The share of those in which the computer dies."""

    def soothe(self) -> None:
        """From now on all is well."""
        self.hangs = self.failures = self.deaths = 0.0


class SimulatedComputer:
    """Computes the steps of one process."""

    def __init__(
        self, store: Store, *, clock: Clock, threads: Threads, temper: Temper, tell: Callable[[str, str], None]
    ) -> None:
        self._store = store
        self._threads = threads
        self._temper = temper
        self._tell = tell
        self._is_gone = False
        graph = project().graph
        definitions = fingerprints(graph)
        self._loading = Loading(store, definitions, clock=clock, work=self._work)
        self._refreshing = Refreshing(store, graph, definitions, clock=clock, work=self._work)
        self._flows = Places(project()).flows
        self.streams = _no_streams(store, clock)
        self.former: dict[str, FormerRows] = {}

    @contextmanager
    def prepared(self, step: ComputedStep, *, pool: str, scans: SharedScans | None = None) -> Iterator[Prepared | None]:
        del pool, scans
        what = f"{type(step).__name__.lower()} of {step.table.name}"
        self._tell("begins", what)
        try:
            match step:
                case Load():
                    with self._loading.prepared(step) as loaded:
                        self._tell("computed", what)
                        yield loaded
                case Refresh():
                    refreshed = self._refreshing.prepared(step)
                    self._tell("computed", what)
                    yield refreshed
                case _:
                    raise AssertionError(f"nobody asks for {step}")
        except Exception as error:
            self._tell("fails", f"{what}: {error}")
            raise

    @contextmanager
    def together(self, names: Sequence[str], *, pool: str, rebuild: bool = False) -> Iterator[SharedScans]:
        del names, pool, rebuild
        yield SharedScans({})

    def is_there(self, name: str, upto: float, *, pool: str) -> bool:
        del pool
        snapshot = self._store.table(name).snapshot
        return snapshot is not None and snapshot.freshness is not None and snapshot.freshness >= micros(upto)

    def against_changes(self, name: str, *, pool: str) -> str | None:
        del name, pool
        return "what is not computed by Spark"

    def finish(self, name: str) -> bool:
        flow = project().graph[name].flow
        if flow is None:
            return False
        folder = journal_folder(self._flows, flow, self._store)
        unfinished = is_unfinished(folder, self._store)
        finish_interrupted([folder], self._store)
        return unfinished

    def awaits(self, name: str) -> str | None:
        del name
        return None

    def discovered_columns(
        self, feed: str, files: Sequence[Arrival], *, known: tuple[Column, ...], pool: str
    ) -> tuple[Column, ...]:
        del feed, files, known, pool
        return ()

    def checks(self) -> list[Check]:
        """What has to be well about it during a run."""
        return [Check(look=self._look, is_quick=True, mend=self._start_again)]

    def _look(self) -> None:
        if self._is_gone:
            raise SparkEndedError

    def _start_again(self, _error: SurroundingsError) -> None:
        self._threads.sleep(_STARTS_IN)
        self._is_gone = False
        self._tell("computer", "is back")

    def _work(self) -> None:
        """A part of a step takes its time, and may fail."""
        temper = self._temper
        self._look()
        hangs = temper.hangs > 0.0 and temper.rng.random() < temper.hangs
        self._threads.sleep(temper.rng.expovariate(1.0 / (_HANGS_FOR if hangs else temper.slowness)))
        if temper.deaths > 0.0 and temper.rng.random() < temper.deaths:
            self._is_gone = True
            self._tell("computer", "dies")
        self._look()
        if temper.failures > 0.0 and temper.rng.random() < temper.failures:
            raise ComputingFailedError("The computer has had enough.")


def _no_streams(store: Store, clock: Clock) -> LatestStreams:
    """There are no latest tables here."""
    return LatestStreams(
        {},
        {},
        store=store,
        latest=LatestTables(project().graph, store),
        definitions={},
        memory=1_000_000,
        clock=clock.now,
        listeners=Listeners(),
        make_queue=LatestQueue,
        spool=project().root,
        watch=lambda files: watched(store.disk, files),
    )
