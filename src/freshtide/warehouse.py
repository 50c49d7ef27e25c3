"""A warehouse in Python: declare it by hand or open a project, run it, ask it.

with Warehouse("shop") as shop:
    shop.feed("orders_feed", path="landing/*.csv", format="csv", schema={...}, time_column="ts")
    shop.sql("CREATE STREAMING TABLE orders AS SELECT * FROM STREAM orders_feed")
    shop.run_once()
    shop.query("SELECT count(*) FROM orders").show()
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from freshtide.catalog import Catalog, RequestKind, RunLock
from freshtide.core.errors import (
    FreshtideError,
    Origin,
    ProjectError,
    UsageError,
    suggestion,
)
from freshtide.core.instants import micros
from freshtide.core.paths import path_fault
from freshtide.core.staleness import trailing_edge
from freshtide.flows import Flow, Limits
from freshtide.flows.policies import THETA
from freshtide.observe import FeedHealth, WarehouseStatus, feed_healths, select_tables, warehouse_status
from freshtide.project import (
    Declarations,
    Project,
    assemble,
    declare_sql,
    declared_function,
    load_project,
    read_feed,
    settings_from,
)
from freshtide.requests import ask
from freshtide.runs import Places, Presence, seen_by_others
from freshtide.runtime import EngineReport, OutageListener, Workbench, logging_to
from freshtide.spark import AuditResult, DataFrame, Listener, SparkSession, run_query
from freshtide.spark.flows import PACK_ROWS, FlowReport, Progress, run_flow
from freshtide.sql import TableKind, parse_query
from freshtide.world import SystemClock

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
_SIDES = ("__rejects", "__late")


class NoDataError(FreshtideError):
    """A question about a table that has never been updated."""


class AlreadyOpenError(FreshtideError):
    """Something was declared after the warehouse had been put to work."""


class Warehouse:
    """Feeds and tables, and the work on them. Close it, or use it in a `with` block."""

    def __init__(
        self, folder: str | Path, *, spark: SparkSession | Mapping[str, Any] | None = None, **settings: Any
    ) -> None:
        """A warehouse to be declared by hand; its state and tables are kept in the folder.

        `settings` are those of freshtide.yml (tracks=4, scheduler="fifo", ...). `spark` is Spark's configuration as
        there, or a session that exists already, in a notebook for example; that one is used and left running.
        """
        if fault := path_fault(str(folder)):
            raise UsageError(fault[0], way_out=fault[1])
        self._root = Path(folder).resolve()
        if isinstance(spark, Mapping):
            settings, spark = {**settings, "spark": spark}, None
        self._spark: SparkSession | None = spark
        self._settings = settings_from({"name": self._root.name, **settings})
        self._declarations = Declarations()
        self._project: Project | None = None
        self._is_of_files = False
        """Whether a project folder says what it is, and can be read again."""
        self._workbench: Workbench | None = None
        self._presence: Presence | None = None

    @classmethod
    def open(cls, folder: str | Path, *, spark: SparkSession | None = None) -> Warehouse:
        """The warehouse of a project folder, the one with freshtide.yml in it."""
        return cls.of_project(load_project(Path(folder)), spark=spark)

    @classmethod
    def of_project(cls, project: Project, *, spark: SparkSession | None = None) -> Warehouse:
        warehouse = cls(project.root, spark=spark)
        warehouse._project, warehouse._is_of_files = project, True
        return warehouse

    def __enter__(self) -> Warehouse:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._workbench is not None:
            self._workbench.close()
            self._workbench = None

    def feed(self, name: str, **settings: Any) -> None:
        """Declare a feed, with the settings that a file in feeds/ has."""
        declarations = self._open_declarations()
        declared, problems = read_feed({"name": name, **settings}, lambda _: _BY_HAND)
        if declared is None:
            declarations.reject(problems, names=[name])
        else:
            declarations.add_feed(declared)

    def sql(self, text: str) -> None:
        """Declare tables with CREATE STREAMING TABLE and CREATE MATERIALIZED VIEW statements."""
        declare_sql(text, "<sql>", self._open_declarations())

    def table(
        self, *, feed: str | None = None, name: str | None = None, **settings: Any
    ) -> Callable[[FunctionT], FunctionT]:
        """Declare a base table by a function from the feed's rows to the table's rows."""
        sources = None if feed is None else [feed]
        return self._declaring(TableKind.STREAMING_TABLE, name=name, sources=sources, settings=settings)

    def materialized_view(
        self, *, name: str | None = None, sources: Any = None, **settings: Any
    ) -> Callable[[FunctionT], FunctionT]:
        """Declare a derived table by a function whose parameters name its sources."""
        return self._declaring(TableKind.MATERIALIZED_VIEW, name=name, sources=sources, settings=settings)

    def flow(self, flow: Flow) -> None:
        """Declare a flow, as a file in flows/ does."""
        declarations = self._open_declarations()
        try:
            declarations.add_flow(flow.graph())
        except ProjectError as error:
            declarations.reject(error.problems)
            declarations.spoiled_flows.add(flow.name.lower())

    @property
    def project(self) -> Project:
        """What has been declared, checked; a ProjectError tells everything that is wrong with it.

        Where a run has gone on with a changed project since, it is that one.
        """
        if self._workbench is not None:
            return self._workbench.project
        if self._project is None:
            self._project = assemble(self._declarations, self._settings, self._root)
        return self._project

    @property
    def workbench(self) -> Workbench:
        """The warehouse at work; Spark is started the first time it is needed."""
        if self._workbench is None:
            reload = load_project if self._is_of_files else None
            self._workbench = Workbench(self.project, spark=self._spark, reload=reload, on_change=self._works)
        return self._workbench

    def run_once(self) -> EngineReport:
        """Load everything that is there, update all that depends on it, and return."""
        return self.run(once=True)

    def run(
        self,
        *,
        stop: threading.Event | None = None,
        once: bool = False,
        watch: bool = False,
        until: Callable[[], bool] | None = None,
        on_outage: OutageListener | None = None,
        on_news: Callable[[str], None] | None = None,
    ) -> EngineReport:
        """Keep the warehouse fresh until `stop` is set or `until` says so.

        With `watch` the files of its project may change meanwhile, and what they say takes effect.

        `on_outage` is told, on another thread, when a feed falls silent for too long and when it is back. `on_news`
        gets a sentence when an update fails, when a table is given up, and when all work has to wait and goes on again.
        """
        self._require_free()
        tell = on_news or (lambda _sentence: None)
        with self.seen(), self.workbench.leased(tell=tell) as lease, logging_to(Places(self.project).log):

            def is_over() -> bool:
                lease.require()
                return until is not None and until()

            engine = self.workbench.engine(once=once, watch=watch)
            self._works(self.project)
            return engine.run(
                stop=stop or threading.Event(),
                once=once,
                until=is_over,
                is_awaited=until is not None,
                on_outage=on_outage,
                on_news=on_news,
            )

    @contextmanager
    def seen(self) -> Iterator[None]:
        """Let others see within this block that a run starts or goes on, and with what; a run does so by itself."""
        if self._presence is not None or not self._is_of_files:
            yield
            return
        try:
            with seen_by_others(self.project) as self._presence:
                yield
        finally:
            self._presence = None

    def _works(self, project: Project) -> None:
        if self._presence is not None:
            self._presence.works(project)

    def listen(self, table: str, listener: Listener) -> None:
        """Have a function called with the rows that each update brings into an update table or a latest view.

        It is called on the thread of the update, after the commit, with a list of rows as dictionaries.
        """
        declared = self.project.graph.called(table)
        if not declared.is_latest:
            raise UsageError(
                f"'{declared.name}' has no update key, and only tables that have one tell of their rows.",
                way_out="Declare 'update_key', or ask for the rows with query().",
            )
        self.workbench.listeners.add(declared.name, listener)

    def run_flow(
        self,
        name: str,
        *,
        policy: str = "mixed",
        limits: Limits | None = None,
        pack_rows: int = PACK_ROWS,
        theta: int = THETA,
        on_progress: Progress = lambda _activity, _rows_in, _rows_out: None,
    ) -> FlowReport:
        """Run a flow of the project by hand, and commit all of its targets together."""
        flows = self.project.flows
        if name not in flows:
            raise UsageError(f"There is no flow '{name}'.", way_out=suggestion(name, flows))
        loaded = next((table.name for table in self.project.graph.values() if table.flow == name), None)
        if loaded is not None:
            raise UsageError(
                f"The flow '{name}' is the load of the table '{loaded}': it runs when files arrive for that.",
                way_out=f"`freshtide run --once` loads what is there; `freshtide backfill {loaded}` loads all anew.",
            )
        self._require_free()
        bench = self.workbench
        with bench.leased():
            report = run_flow(
                flows[name],
                bench.tracks.root,
                store=bench.store,
                root=self.project.root,
                scratch=bench.places.flows,
                policy=policy,
                limits=limits,
                pack_rows=pack_rows,
                theta=theta,
                now=bench.clock.now,
                on_progress=on_progress,
            )
            bench.book_made(name)
        return report

    def status(self, *, looking_back: bool = False) -> WarehouseStatus:
        """How every table and feed stands; looking back, with what the last hour was like."""
        bench = self.workbench
        going_on = RunLock(bench.places.lock).holder() is not None
        return warehouse_status(
            self.project, bench.catalog, bench.clock.now(), run_going_on=going_on, looking_back=looking_back
        )

    def feed_healths(self) -> dict[str, FeedHealth]:
        """Whether every feed delivers as it should; nobody can tell while the warehouse does not run."""
        bench = self.workbench
        going_on = RunLock(bench.places.lock).holder() is not None
        return feed_healths(self.project, bench.catalog, bench.clock.now(), run_going_on=going_on)

    def read(self, table: str) -> DataFrame:
        """A table as a Spark DataFrame, pinned at its newest version."""
        return self._frame(table, None)

    def query(self, sql: str, *, stable: bool = False) -> DataFrame:
        """A SELECT over the warehouse's tables; with `stable` all of them as of their common trailing edge."""
        parsed = parse_query(sql)
        names = {reference.source for reference in parsed.references}
        edge = self.stable_edge(names) if stable else None
        frames = {name: self._frame(name, edge) for name in names}
        return run_query(self.workbench.states().session, parsed.text, parsed.references, frames)

    def stable_edge(self, names: Iterable[str]) -> float | None:
        """Up to where all these tables are complete and final; None where no table is named."""
        rows = self.workbench.catalog.tables.all()
        tables = [self.project.graph.called(name).name for name in names if not name.endswith(_SIDES)]
        for name in tables:
            if name not in rows or rows[name].safe is None:
                raise NoDataError(f"'{name}' has no data yet that is final, so there is no common edge to ask at.")
        timed = [name for name in tables if not self.project.graph[name].is_reference]
        return trailing_edge(rows[name].safe for name in timed or tables)

    def audit(self, *patterns: str) -> Iterator[AuditResult]:
        """Check derived tables against their definitions, one after another."""
        for name in select_tables(self.project.graph, patterns):
            if self.project.graph[name].is_derived:
                yield self.workbench.audit().check(name)

    def pause(self, table: str) -> str:
        return self._ask(RequestKind.PAUSE, table)

    def resume(self, table: str) -> str:
        return self._ask(RequestKind.RESUME, table)

    def backfill(self, table: str) -> str:
        """Compute a table anew, and everything that depends on it; what of that was not is an error that says why."""
        return self._ask(RequestKind.BACKFILL, table)

    def cancel_backfill(self, table: str) -> str:
        """Not go on with a backfill: the table stays as it is. That none is asked for is an error that says so."""
        return self._ask(RequestKind.CANCEL, table)

    def retry_file(self, path: str) -> str:
        """Take up a quarantined file again."""
        return self._ask(RequestKind.RETRY, path)

    def skip_file(self, path: str) -> str:
        """Go on without a file that is away."""
        return self._ask(RequestKind.SKIP, path)

    def accept_file(self, path: str) -> str:
        """Let the content that a file has now take the place of what was registered, in all tables."""
        return self._ask(RequestKind.ACCEPT, path)

    def _ask(self, kind: RequestKind, target: str) -> str:
        with self._catalog() as catalog:

            def run(number: int) -> None:
                self.run(until=lambda: catalog.requests.is_done(number))

            return ask(self.project, catalog, kind, target, at=SystemClock().now(), run=run)

    @contextmanager
    def _catalog(self) -> Iterator[Catalog]:
        """The catalog, without Spark where that has not been started yet."""
        if self._workbench is not None:
            yield self._workbench.catalog
            return
        catalog = Catalog.open(Places(self.project).catalog_url)
        try:
            yield catalog
        finally:
            catalog.close()

    def _require_free(self) -> None:
        """Where the warehouse is being run, nobody should wait for Spark to hear so."""
        RunLock(Places(self.project).lock).require_free()

    def _frame(self, name: str, edge: float | None) -> DataFrame:
        states = self.workbench.states()
        base = next((name.removesuffix(side) for side in _SIDES if name.endswith(side)), None)
        if base is not None and base in self.project.graph:
            return states.beside(name)
        declared = self.project.graph.called(name).name
        return states.newest(declared) if edge is None else states.as_of(declared, micros(edge))

    def _declaring(
        self, kind: TableKind, *, name: str | None, sources: Any, settings: dict[str, Any]
    ) -> Callable[[FunctionT], FunctionT]:
        def declare(function: FunctionT) -> FunctionT:
            declarations = self._open_declarations()
            declared, problems = declared_function(
                kind, function, name=name, sources=sources, settings=settings, origin=_BY_HAND
            )
            if declared is None:
                declarations.reject(problems, names=[name or function.__name__])
            else:
                declarations.add_table(declared)
            return function

        return declare

    def _open_declarations(self) -> Declarations:
        if self._project is not None:
            raise AlreadyOpenError(
                "The warehouse is at work already.", way_out="Declare everything before the first run or question."
            )
        return self._declarations


_BY_HAND = Origin(file="<python>")
