"""Views from changes: what a refresh takes, against the same view in full, as more and more batches come."""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import mean, median

from bench.moving import Batch, Suite
from bench.nexmark import nexmark
from bench.results import Figure, Report
from bench.same_rows import difference, peer_rows
from bench.single_updates import SingleUpdates
from bench.tpch import tpch
from freshtide import Warehouse
from freshtide.core.errors import FreshtideError
from freshtide.core.tables import SourceReference, SqlQuery
from freshtide.spark import SparkSession, start_session
from freshtide.spark.incremental import NotIncrementalError, compiled
from freshtide.sql import parse_query

_WARM_UP = 3
"""Batches that do not count: the first makes what is kept, and Spark's code gets warm."""
_TENTH = 10
_GOAL, _FLAT = 0.1, 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is measured."""

    scale: float
    events: int
    batches: int
    full: int
    """How often a view is computed in full."""
    queries: tuple[str, ...]
    """None: all."""
    suites: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Seen:
    """What was measured of a query."""

    from_changes: list[float] = field(default_factory=list)
    in_full: list[float] = field(default_factory=list)
    computed_whole: int = 0
    """Refreshes that were to be made of changes and were not."""
    differs: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    suite: Suite
    seen: Mapping[str, _Seen]
    against: Mapping[str, str]
    """Queries that cannot be maintained from changes, and what stands against it."""


def options_of(words: Sequence[str], *, quick: bool) -> Options:
    parser = argparse.ArgumentParser(prog="python -m bench incremental", description=__doc__)
    parser.add_argument("--scale", type=float, default=0.01 if quick else 1.0, help="of TPC-H")
    parser.add_argument("--events", type=int, default=50_000 if quick else 2_000_000, help="of Nexmark, at first")
    parser.add_argument("--batches", type=int, default=2 if quick else 100, help="that count, a thousandth each")
    parser.add_argument(
        "--full", type=int, default=1 if quick else 5, help="refreshes in full that count, of each view"
    )
    parser.add_argument("--queries", default="", help="such as q1,q3,n5; all of them if none")
    parser.add_argument("--suites", default="tpch,nexmark", help="tpch, nexmark or both")
    given = parser.parse_args(list(words))
    return Options(
        scale=given.scale,
        events=given.events,
        batches=given.batches,
        full=max(1, min(given.full, given.batches)),
        queries=tuple(filter(None, given.queries.split(","))),
        suites=tuple(given.suites.split(",")),
    )


def with_options(words: Sequence[str]) -> Callable[..., Report]:
    """The benchmark with options of its own."""
    return partial(run, words=words)


def run(folder: Path, *, quick: bool, words: Sequence[str] = ()) -> Report:
    options = options_of(words, quick=quick)
    known: dict[str, Callable[[], Suite]] = {
        "tpch": lambda: tpch(options.scale),
        "nexmark": lambda: nexmark(options.events),
    }
    spark = start_session({}, log=folder / "spark.log")
    report = Report(name="incremental")
    for name in options.suites:
        _tell(report, name, _measured(spark, known[name](), folder / name, options), options)
    spark.stop()
    return report


def _measured(spark: SparkSession, suite: Suite, folder: Path, options: Options) -> _Course:
    wanted = {name: text for name, text in suite.queries.items() if not options.queries or name in options.queries}
    against = _against(spark, suite, wanted)
    with Warehouse(folder / "warehouse", spark=spark) as warehouse:
        _declare(warehouse, suite, folder, wanted, against)
        updates = SingleUpdates(warehouse)
        seen = {name: _Seen() for name in wanted}
        files: dict[str, list[Path]] = defaultdict(list)
        number = _WARM_UP + options.batches
        # Spread over the batches that count, and one before them that does not.
        in_full = {
            _WARM_UP,
            *(_WARM_UP + round(at * options.batches / options.full) for at in range(1, options.full + 1)),
        }
        for at, batch in enumerate(suite.batches(folder / "batches", number)):
            begun = time.perf_counter()
            _load(updates, batch, files)
            for name, query in seen.items():
                _refresh(updates, name, query, batch, counts=at > _WARM_UP, can=name not in against, full=at in in_full)
            _progress(f"{suite.name}: batch {at} of {number}, {time.perf_counter() - begun:.1f} s")
        for name in wanted:
            view = f"{name}_full" if name in against else name
            seen[name].differs = difference(warehouse.read(view).toArrow(), peer_rows(files, suite.for_duckdb(name)))
    return _Course(suite=suite, seen=seen, against=against)


def _refresh(
    updates: SingleUpdates, name: str, seen: _Seen, batch: Batch, *, counts: bool, can: bool, full: bool
) -> None:
    if can:
        took = updates.update(name, batch.stamp)
        if counts:
            seen.from_changes.append(took)
            seen.computed_whole += not updates.is_from_changes(name)
    if full:
        took = updates.update(f"{name}_full", batch.stamp)
        if counts:
            seen.in_full.append(took)


def _load(updates: SingleUpdates, batch: Batch, files: dict[str, list[Path]]) -> None:
    for table, path in batch.files.items():
        files[table].append(path)
        updates.update(table, updates.arrived(f"{table}_feed", path, table))


def _declare(
    warehouse: Warehouse, suite: Suite, folder: Path, wanted: Mapping[str, str], against: Mapping[str, str]
) -> None:
    for table in suite.tables:
        place = folder / "landing" / table.name
        place.mkdir(parents=True)
        time_column = {} if table.time_column is None else {"time_column": table.time_column}
        warehouse.feed(
            f"{table.name}_feed", path=f"{place}/*.parquet", format="parquet", schema=dict(table.schema), **time_column
        )
        warehouse.sql(f"CREATE STREAMING TABLE {table.name} AS SELECT * FROM STREAM {table.name}_feed")
    for name, text in wanted.items():
        ways = {f"{name}_full": "full"} if name in against else {name: "incremental", f"{name}_full": "full"}
        for view, way in ways.items():
            warehouse.sql(f"CREATE MATERIALIZED VIEW {view} TBLPROPERTIES ('maintain' = '{way}') AS {text}")


def _against(spark: SparkSession, suite: Suite, wanted: Mapping[str, str]) -> dict[str, str]:
    """What `validate` would say of each query that there is no rule for."""
    ddl = {table.name: ", ".join(f"{name} {kind}" for name, kind in table.schema.items()) for table in suite.tables}
    schemas = {name: spark.createDataFrame([], columns).schema for name, columns in ddl.items()}
    found: dict[str, str] = {}
    for name, text in wanted.items():
        parsed = parse_query(text)
        references: tuple[SourceReference, ...] = tuple(parsed.references)
        try:
            compiled(spark, SqlQuery(text=parsed.text, references=references), schemas)
        except NotIncrementalError as error:
            found[name] = error.message
        except FreshtideError as error:
            found[name] = f"{error}"
    return found


def _tell(report: Report, name: str, course: _Course, options: Options) -> None:
    rows = [_row(query, seen, course.against) for query, seen in course.seen.items()]
    report.table(
        f"{course.suite.name}: seconds per refresh, median of {options.batches} batches from changes and of "
        f"{options.full} in full",
        ("", "from changes", "in full", f"ratio (goal: {_GOAL:g})", "last ten / first ten", "whole", "rows"),
        rows,
    )
    followed = {query: seen for query, seen in course.seen.items() if query not in course.against}
    ratios = {query: _ratio(seen) for query, seen in followed.items()}
    report.notes.append(
        f"{course.suite.name}: {len(followed)} of {len(course.seen)} are maintained from changes; "
        f"{sum(ratio <= _GOAL for ratio in ratios.values())} of them take a tenth or less of what it takes in full. "
        "whole: refreshes that were computed as a whole after all. rows: whether DuckDB gets the same from the files."
    )
    report.notes += [f"  {query}: {reason}" for query, reason in course.against.items()]
    report.notes += [f"  {query} DIFFERS: {seen.differs}" for query, seen in course.seen.items() if seen.differs]
    report.figures[f"{name}_followed"] = len(followed)
    report.figures[f"{name}_wrong"] = sum(seen.differs is not None for seen in course.seen.values())
    for query, seen in followed.items():
        report.figures[f"{name}_{query}_from_changes"] = median(seen.from_changes)
        report.figures[f"{name}_{query}_ratio"] = ratios[query]
        report.figures[f"{name}_{query}_growth"] = _growth(seen)


def _row(query: str, seen: _Seen, against: Mapping[str, str]) -> tuple[Figure, ...]:
    same = "same" if seen.differs is None else "DIFFER"
    if query in against:
        return query, None, median(seen.in_full), None, None, None, same
    return (
        query,
        median(seen.from_changes),
        median(seen.in_full),
        _ratio(seen),
        _growth(seen),
        seen.computed_whole,
        same,
    )


def _ratio(seen: _Seen) -> float:
    return median(seen.from_changes) / median(seen.in_full)


def _growth(seen: _Seen) -> float | None:
    """None where the last ten would be among the first."""
    if len(seen.from_changes) < 2 * _TENTH:
        return None
    return mean(seen.from_changes[-_TENTH:]) / mean(seen.from_changes[:_TENTH])


def _progress(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)
