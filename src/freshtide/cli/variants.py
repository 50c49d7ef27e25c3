"""Options to try something else than the project says: other schedulers, numbers of tracks and costs."""

from __future__ import annotations

from typing import Annotated

import typer

from freshtide.core.durations import parse_duration
from freshtide.core.errors import DurationError, Origin, ProjectError, UsageError
from freshtide.core.graph import TableGraph
from freshtide.project import parse_scheduler
from freshtide.scheduling import Policy

_MOST_TRACKS = 10_000

SchedulersOption = Annotated[
    list[str] | None, typer.Option("--scheduler", help="Of a project: a scheduler to try, as in freshtide.yml.")
]
TracksOption = Annotated[str | None, typer.Option("--tracks", help="Of a project: numbers of tracks, like 1,2,4.")]
CostsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cost", help="Of a project: what updates of a table take, like orders=2s or orders=2s,0.01; repeatable."
    ),
]


def policy_of(text: str) -> Policy:
    """A scheduler as it would stand in freshtide.yml."""
    policy, problems = parse_scheduler(text, Origin(file="--scheduler"))
    if policy is None:
        raise ProjectError(problems)
    return policy


def cost_of(text: str, graph: TableGraph) -> tuple[str, float, float]:
    """`orders=2s` or `orders=2s,0.01`: the table, alpha and beta."""
    name, _, cost = text.partition("=")
    alpha, _, beta = cost.partition(",")
    try:
        coefficients = parse_duration(alpha), _share(beta)
    except (DurationError, ValueError):
        way_out = "Write it like --cost orders=2s or --cost orders=2s,0.01 (seconds of work per second of data)."
        raise UsageError(f"'{text}' is not the cost of a table.", way_out=way_out) from None
    return graph.called(name.strip()).name, *coefficients


def track_numbers(text: str) -> list[int]:
    try:
        numbers = sorted({int(part) for part in text.split(",")})
    except ValueError:
        numbers = []
    if not numbers or numbers[0] < 1 or numbers[-1] > _MOST_TRACKS:
        raise UsageError(f"'{text}' is not a list of numbers of tracks.", way_out="Write them like --tracks 1,2,4.")
    return numbers


def _share(text: str) -> float:
    number = float(text) if text.strip() else 0.0
    if not 0.0 <= number < float("inf"):
        raise ValueError(text)
    return number
