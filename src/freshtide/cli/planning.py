"""plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from freshtide.catalog import Catalog
from freshtide.cli.foretelling import BackfillOption, foreseen, print_foresight
from freshtide.cli.output import JsonOption, console, duration, number_of, print_json, print_problem
from freshtide.cli.places import HERE, ProjectOption, looking_at
from freshtide.cli.variants import CostsOption, SchedulersOption, TracksOption, cost_of, policy_of, track_numbers
from freshtide.core.errors import UsageError
from freshtide.core.steps import Outline
from freshtide.planning import Assurance, Plan, PlannedTable, Work, demands_of, plan_of
from freshtide.scheduling import Policy
from freshtide.world import SystemClock

_COLOURS = {Assurance.KEPT: "green", Assurance.CANNOT_BE_KEPT: "red", Assurance.NO_GUARANTEE: "yellow"}
_NAMED = 4
_GAP = 2
_ENOUGH_TO_DO = 20
_AFTER_EACH = "tidy"


def register(app: typer.Typer) -> None:
    app.command()(plan)


def plan(  # noqa: PLR0917 - typer reads options from parameters, which nobody passes by position
    project: ProjectOption = HERE,
    tracks: TracksOption = None,
    scheduler: SchedulersOption = None,
    cost: CostsOption = None,
    backfill: BackfillOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a run would do and what can be promised; exit code 1 when a target lag cannot be kept."""
    with looking_at(project, opened=Catalog.peek) as (loaded, catalog):
        demands = demands_of(loaded, catalog)
        for text in cost or ():
            demands = demands.with_cost(*cost_of(text, loaded.graph))
        policy = _one_policy(scheduler, loaded.settings.policy)
        number = loaded.settings.tracks if tracks is None else _one_number(tracks)
        now = SystemClock().now()
        made = plan_of(loaded, catalog, now, demands=demands, policy=policy, tracks=number)
        told = None
        if backfill is not None:
            told = foreseen(loaded, catalog, backfill, policy=policy, tracks=number, costs=cost)
    if as_json:
        print_json(made.as_json() | ({} if told is None else {"backfill": told.as_json()}))
    else:
        _print(made)
        if told is not None:
            print_foresight(told)
        for note in loaded.notes:
            print_problem(note, colour="yellow")
    if made.breaks_target:
        raise typer.Exit(1)


def _one_policy(asked: Sequence[str] | None, own: Policy) -> Policy:
    if not asked:
        return own
    if len(asked) > 1:
        raise UsageError("A plan is for one scheduler.", way_out="`freshtide simulate` compares several.")
    return policy_of(asked[0])


def _one_number(text: str) -> int:
    numbers = track_numbers(text)
    if len(numbers) > 1:
        raise UsageError("A plan is for one number of tracks.", way_out="`freshtide simulate` compares several.")
    return numbers[0]


def _print(made: Plan) -> None:
    console.print(_table(made.tables, console.width))
    _print_steps(made.tables)
    busy = f"{made.utilisation:.3g} of {number_of(made.tracks, 'track')} busy"
    console.print(f"[dim]On average the tables keep {busy}.[/dim]")
    for told, tables in _regrets(made.tables).items():
        _print_regret(tables, *told)
    for reason, tables in _unbounded(made.tables).items():
        console.print(f"[dim]No bound for {escape(_names(tables))}: {escape(reason)}.[/dim]", soft_wrap=True)
    for table in made.tables:
        if table.recovery is not None:
            console.print(f"[yellow]●[/yellow] {escape(table.recovery.sentence)}", soft_wrap=True)
    if made.eager.is_eager or made.eager.factor is not None:
        console.print(f"[dim]{escape(made.eager.sentence)}[/dim]", soft_wrap=True)
    rests_on = {sentence: None for table in made.tables if table.promise for sentence in table.promise.rests_on}
    unseen = made.faults[_NAMED:]
    faults = [*made.faults[:_NAMED], *([f"… and {number_of(len(unseen), 'folder')} more."] if unseen else [])]
    for note in (*rests_on, *faults):
        console.print(f"[dim]{escape(note)}[/dim]", soft_wrap=True)


def _table(tables: Sequence[PlannedTable], width: int) -> Table:
    """The tree with what is to be done and what is promised; where it is too wide, names are cut and not figures."""
    rows = [(Text(branch), Text.from_markup(_to_do(table)), *_figures(table)) for branch, table in _tree(tables)]
    columns = ("Table", "To do", "Busy", "Target", "At most", "Promise")
    needed = [max([len(name), *(row[place].cell_len for row in rows)]) for place, name in enumerate(columns)]
    room = width - sum(needed[2:]) - _GAP * (len(columns) - 1)
    to_do = min(needed[1], max(_ENOUGH_TO_DO, room - needed[0]))
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        shown.add_column(name, justify="right" if name in {"Busy", "Target", "At most"} else "left", no_wrap=True)
    for row in rows:
        row[0].truncate(max(1, room - to_do), overflow="ellipsis")
        row[1].truncate(to_do, overflow="ellipsis")
        shown.add_row(*row)
    return shown


def _print_steps(tables: Sequence[PlannedTable]) -> None:
    """What is read and written on the way; tables that an update puts rows into beside its own are named by endings."""
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("Step", "Reads", "Writes"):
        shown.add_column(name, overflow="fold")
    for table in tables:
        for step in table.steps:
            if step.step != _AFTER_EACH:
                shown.add_row(step.step, Text(", ".join(step.reads)), _written(table.table.name, step))
    if shown.row_count:
        console.print(shown)
        console.print("[dim]A table is tidied after its update.[/dim]")


def _written(own: str, step: Outline) -> Text:
    if not step.writes:
        return Text("what waits, in memory", style="dim")
    beside = [name.removeprefix(f"{own}__") for name in step.writes if name != own]
    return Text(own) + Text(f" + {', '.join(beside)}" if beside else "", style="dim")


def _figures(table: PlannedTable) -> tuple[Text, Text, Text, Text]:
    promise = table.promise
    return (
        Text("–" if table.utilisation is None else _percent(table.utilisation)),
        Text(duration(table.table.target_lag)),
        Text(duration(None if promise is None else promise.bound)),
        Text("") if promise is None else Text(promise.verdict, style=_COLOURS[promise.verdict]),
    )


def _regrets(tables: Sequence[PlannedTable]) -> dict[tuple[Assurance, str, str], list[str]]:
    """The target lags that are not sure to be kept, those with the same reason and remedy together."""
    found: dict[tuple[Assurance, str, str], list[str]] = {}
    for table in tables:
        promise = table.promise
        if promise is not None and promise.target_lag is not None and promise.verdict is not Assurance.KEPT:
            remedy = "" if table.remedy is None else table.remedy.words
            found.setdefault((promise.verdict, promise.reason, remedy), []).append(table.table.name)
    return found


def _print_regret(tables: Sequence[str], verdict: Assurance, reason: str, remedy: str) -> None:
    colour, names = _COLOURS[verdict], escape(_names(tables))
    console.print(f"[{colour}]●[/{colour}] [bold]{names}[/bold]: {verdict}: {escape(reason)}.", soft_wrap=True)
    if remedy:
        console.print(f"  [dim]{escape(remedy[0].upper() + remedy[1:])}[/dim]", soft_wrap=True)


def _unbounded(tables: Sequence[PlannedTable]) -> dict[str, list[str]]:
    """Why tables that nobody has set a target for have no bound, told once for all with the same reason."""
    found: dict[str, list[str]] = {}
    for table in tables:
        if table.promise is not None and table.promise.target_lag is None and table.promise.bound is None:
            found.setdefault(table.promise.reason, []).append(table.table.name)
    return found


def _names(tables: Sequence[str]) -> str:
    more = f" and {len(tables) - _NAMED} more" if len(tables) > _NAMED else ""
    return ", ".join(tables[:_NAMED]) + more


def _to_do(table: PlannedTable) -> str:
    if table.work is Work.LOAD:
        waiting = table.waiting
        return f"load {number_of(waiting.files, 'file')}, {_size(waiting.bytes)}"
    if table.work is Work.BACKFILL:
        return f"[cyan]backfill[/cyan]: {table.why}"
    if table.work is Work.LEFT_OUT:
        return f"[yellow]{table.why}[/yellow]"
    return f"[dim]{table.why}[/dim]" if table.work is Work.NOTHING else str(table.work)


def _tree(tables: Sequence[PlannedTable]) -> Iterator[tuple[str, PlannedTable]]:
    """Every table once, below the deepest of its sources, with the others named beside it."""
    by_name = {table.table.name: table for table in tables}
    below: dict[str | None, list[PlannedTable]] = {}
    for table in tables:
        sources = table.table.sources
        # Of sources on the same level the first one named.
        place = max(sources, key=lambda name: by_name[name].level) if sources else None
        below.setdefault(place, []).append(table)
    for table in below.get(None, []):
        yield table.table.name, table
        yield from _branches(table.table.name, "", below)


def _branches(
    source: str, indent: str, below: Mapping[str | None, Sequence[PlannedTable]]
) -> Iterator[tuple[str, PlannedTable]]:
    branches = below.get(source, [])
    for number, table in enumerate(branches, start=1):
        is_last = number == len(branches)
        others = [name for name in table.table.sources if name != source]
        beside = f" + {', '.join(others)}" if others else ""
        yield f"{indent}{'└─ ' if is_last else '├─ '}{table.table.name}{beside}", table
        yield from _branches(table.table.name, indent + ("   " if is_last else "│  "), below)


def _percent(share: float) -> str:
    if 0.0 < share < 0.001:
        return "<0.1%"
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def _size(number: int) -> str:
    if number < 1_000:
        return f"{number} B"
    for unit, size in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if number < 999.5 * size:
            return f"{number / size:.3g} {unit}"
    return f"{number / 1e12:.3g} TB"
