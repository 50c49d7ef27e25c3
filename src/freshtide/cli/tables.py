"""Status as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from freshtide.cli.output import console, duration, percent
from freshtide.core.instants import datetime_of
from freshtide.observe import LastHour, RowCount, TableReport, WarehouseStatus
from freshtide.planning import KeptBound

_JUSTIFY: dict[str, Literal["left", "right"]] = {
    "Table": "left",
    "Stale": "right",
    "Oldest update": "right",
    "Target": "right",
    "Within": "right",
    "Most of bound": "right",
    "Fresh up to": "left",
    "Waiting": "right",
    "Superseded": "right",
    "Updates": "right",
    "Mean": "right",
    "Now": "left",
}
_GAP = 2
# Given up one after the other where a terminal is too narrow for them and for enough of the names.
_DISPENSABLE = ("Mean", "Updates", "Superseded", "Most of bound", "Fresh up to", "Within", "Target", "Waiting")
_ENOUGH_OF_A_NAME = 24
_ENOUGH_OF_NOW = 14


def status_table(
    status: WarehouseStatus,
    *,
    title: str | None = None,
    width: int | None = None,
    most: int | None = None,
    bounds: Mapping[str, KeptBound] | None = None,
) -> Table:
    """Every table with staleness, target lag, freshness, what waits and what runs; with `bounds` how stale it got.

    Where the status looks back, with the share of the last hour within the target lag.
    Within a width, names are shortened rather than figures. With `most`, only so many tables are shown.
    """
    rows = [_cells(report, status, (bounds or {}).get(report.name)) for report in status.updated[:most]]
    left_out = set() if bounds else {"Most of bound"}
    if not _has_shares(status):
        left_out.add("Within")
    if all(report.update_staleness is None for report in status.tables):
        # Hardly a project has update tables: the others are spared their columns.
        left_out |= {"Oldest update", "Superseded"}
    columns = _fitted(rows, [name for name in _JUSTIFY if name not in left_out], width)
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name, justify=_JUSTIFY[name], no_wrap=True)
    for row in rows:
        table.add_row(*(row[name] for name in columns))
    return table


def made_table(status: WarehouseStatus) -> Table | None:
    """The tables that flows make: they have no updates of their own, and nothing to be late with; None without any."""
    made = [report for report in status.tables if report.made_by is not None]
    if not made:
        return None
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("Made by flows", "Rows", "Changed last", "Flow"):
        table.add_column(name, justify="right" if name == "Rows" else "left")
    for report in made:
        changed = "–" if report.freshness is None else _moment(report.freshness, status.at)
        rows = "–" if report.freshness is None else f"{report.rows or 0:,}"
        table.add_row(escape(report.name), rows, changed, escape(str(report.made_by)))
    return table


def objective_lines(status: WarehouseStatus) -> Iterator[str]:
    """What the tables add up to, now and over the last hour, and what the column of shares means."""
    now, hour = status.objective, status.hour
    then = None if hour is None else hour.objective
    yield _in_words("staleness", now.weighted_staleness, None if then is None else then.weighted_staleness, hour)
    if any(report.target_lag is not None for report in status.tables):
        yield _in_words("lateness", now.weighted_lateness, None if then is None else then.weighted_lateness, hour)
    if _has_shares(status):
        yield "Within: how much of the last hour was within the target lag, run or no run."


def _in_words(what: str, now: float, on_average: float | None, hour: LastHour | None) -> str:
    told = f"Weighted {what}: {duration(now)} now"
    if hour is None or hour.since is None:
        return f"{told}."
    long = "hour" if any(map(hour.is_whole, hour.tables)) else duration(hour.until - hour.since)
    return f"{told}, {duration(on_average)} on average over the last {long}."


def print_objective(status: WarehouseStatus) -> None:
    for line in objective_lines(status):
        console.print(f"[dim]{line}[/dim]")


def _has_shares(status: WarehouseStatus) -> bool:
    return status.hour is not None and any(of.within is not None for of in status.hour.tables.values())


def _cells(report: TableReport, status: WarehouseStatus, kept: KeptBound | None) -> dict[str, Text]:
    now = status.at
    cells = {
        "Table": "  " * report.level + report.name,
        "Stale": duration(report.staleness) if report.update_staleness is not None else _lag(report),
        "Oldest update": "–" if report.update_staleness is None else _lag(report),
        "Target": duration(report.target_lag),
        "Within": "–" if status.hour is None else _within(report.name, status.hour),
        "Most of bound": "–" if kept is None else _most(kept),
        "Fresh up to": "–" if report.freshness is None else _moment(report.freshness, now),
        "Waiting": str(report.residents or report.pending or "–"),
        "Superseded": "–" if report.superseded is None else f"{report.superseded:,}",
        "Updates": str(report.updates),
        "Mean": "–" if report.mean_seconds is None else f"{report.mean_seconds:.2f}s",
        "Now": _doing(report, now),
    }
    return {name: Text.from_markup(cell) for name, cell in cells.items()}


def _fitted(rows: list[dict[str, Text]], columns: list[str], width: int | None) -> list[str]:
    """The columns there is room for; names and what is going on are cut to the rest of the width."""
    if width is None:
        return columns
    needed = {name: max([len(name), *(row[name].cell_len for row in rows)]) for name in columns}
    now = min(needed["Now"], _ENOUGH_OF_NOW)

    def room() -> int:
        """What is left for the names."""
        return width - now - _GAP - sum(needed[name] + _GAP for name in columns if name not in {"Table", "Now"})

    for name in _DISPENSABLE:
        if name in columns and room() < min(needed["Table"], _ENOUGH_OF_A_NAME):
            columns.remove(name)
    names = max(1, min(needed["Table"], room()))
    now += max(0, room() - names)
    for row in rows:
        row["Table"].truncate(names, overflow="ellipsis")
        row["Now"].truncate(now, overflow="ellipsis")
    return columns


def counts_table(counts: list[RowCount]) -> Table:
    """Where the rows of each base table's files are."""
    # Eight columns fit into 80 characters with one space between them, names and all.
    table = Table(box=None, header_style="bold", pad_edge=False, collapse_padding=True)
    table.add_column("Table", no_wrap=True)
    # Few projects load tables by flows or have update tables: the others are spared the columns.
    by_flow = ("By flow",) if any(count.diverted for count in counts) else ()
    newer = ("Superseded",) if any(count.superseded for count in counts) else ()
    windows = ("In windows", "Waiting") if any(count.in_windows is not None for count in counts) else ()
    more = ("Made more",) if any(count.multiplied for count in counts) else ()
    sides = ("Rejected", "Late", "Filtered", *more)
    for name in ("Files", "Rows arrived", "In table", *by_flow, *windows, *newer, *sides, "Unaccounted"):
        table.add_column(name, justify="right")
    for count in counts:
        colour = "red" if count.unaccounted or count.faults else "green"
        elsewhere = (
            *((count.diverted,) if by_flow else ()),
            *((count.in_windows, count.waiting) if windows else ()),
            *((count.superseded,) if newer else ()),
        )
        aside = (count.in_rejects, count.in_late, count.filtered, *((count.multiplied,) if more else ()))
        numbers = (count.files, count.arrived, count.in_table, *elsewhere, *aside)
        table.add_row(
            count.table,
            *("" if number is None else f"{number:,}" for number in numbers),
            f"[{colour}]{count.unaccounted:,}[/{colour}]",
        )
    return table


def _moment(instant: float, now: float) -> str:
    """The time of day, with the date only where it is another day's."""
    moment = datetime_of(instant)
    same_day = moment.date() == datetime_of(now).date()
    return moment.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M")


def _within(table: str, hour: LastHour) -> str:
    """The share of the hour within the target; of how much, where the table has not had data for all of it."""
    stretch = hour.tables.get(table)
    if stretch is None or stretch.share_within is None:
        return "–"
    return f"{percent(stretch.share_within)}{'' if hour.is_whole(table) else f' of {duration(stretch.length)}'}"


def _most(kept: KeptBound) -> str:
    colour = "red" if kept.is_broken else "default"
    return f"[{colour}]{duration(kept.observed)} of {duration(kept.bound)}[/{colour}]"


def _lag(report: TableReport) -> str:
    """The staleness that is held against the target."""
    colour = {True: "green", False: "red", None: "default"}[report.within_target]
    return f"[{colour}]{duration(report.lag)}[/{colour}]"


def _doing(report: TableReport, now: float) -> str:
    if report.running_on is not None and report.running_since is not None:
        story = "" if report.rebuild_story is None else f", {report.rebuild_story}"
        return f"[cyan]track {report.running_on}, {max(0.0, now - report.running_since):.1f}s{story}[/cyan]"
    if report.status == "active" and (report.backfill_waits or report.interrupted_since is not None):
        return "[yellow]backfill waits[/yellow]" if report.backfill_waits else "[yellow]interrupted[/yellow]"
    if report.status == "failed":
        return f"[red]failed[/red] {escape((report.reason or '')[:60])}"
    if report.status == "paused":
        return "[yellow]paused[/yellow]"
    if report.silent_since is not None:
        return f"[yellow]outage, {duration(max(0.0, now - report.silent_since))}[/yellow]"
    return "[dim]waiting[/dim]" if report.pending or report.residents else ""
