"""Status as tables on a terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from freshtide.cli.output import duration
from freshtide.core.instants import datetime_of
from freshtide.observe import RowCount, TableReport, WarehouseStatus


def status_table(status: WarehouseStatus, *, title: str | None = None) -> Table:
    """Every table with staleness, target lag, freshness, what waits and what runs."""
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for name, justify in (
        ("Table", "left"),
        ("Stale", "right"),
        ("Target", "right"),
        ("Fresh up to", "left"),
        ("Waiting", "right"),
        ("Updates", "right"),
        ("Mean", "right"),
        ("Now", "left"),
    ):
        table.add_column(name, justify=justify, no_wrap=name != "Now")  # type: ignore[arg-type]
    for report in status.tables:
        table.add_row(
            "  " * report.level + report.name,
            _staleness(report),
            duration(report.target_lag),
            "–" if report.freshness is None else _moment(report.freshness, status.at),
            str(report.pending or "–"),
            str(report.updates),
            "–" if report.mean_seconds is None else f"{report.mean_seconds:.2f}s",
            _doing(report, status.at),
        )
    return table


def counts_table(counts: list[RowCount]) -> Table:
    """Where the rows of each base table's files are."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("Table")
    for name in ("Files", "Rows arrived", "In table", "Rejected", "Late", "Filtered", "Unaccounted"):
        table.add_column(name, justify="right")
    for count in counts:
        colour = "green" if count.unaccounted == 0 else "red"
        numbers = (count.files, count.arrived, count.in_table, count.in_rejects, count.in_late, count.filtered)
        table.add_row(
            count.table, *(f"{number:,}" for number in numbers), f"[{colour}]{count.unaccounted:,}[/{colour}]"
        )
    return table


def _moment(instant: float, now: float) -> str:
    """The time of day, with the date only where it is another day's."""
    moment = datetime_of(instant)
    same_day = moment.date() == datetime_of(now).date()
    return moment.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M")


def _staleness(report: TableReport) -> str:
    colour = {True: "green", False: "red", None: "default"}[report.within_target]
    return f"[{colour}]{duration(report.staleness)}[/{colour}]"


def _doing(report: TableReport, now: float) -> str:
    if report.running_on is not None and report.running_since is not None:
        return f"[cyan]track {report.running_on}, {max(0.0, now - report.running_since):.1f}s[/cyan]"
    if report.status == "failed":
        return f"[red]failed[/red] {escape((report.reason or '')[:60])}"
    if report.status == "paused":
        return "[yellow]paused[/yellow]"
    return "[dim]waiting[/dim]" if report.pending else ""
