"""Flows as users write them, in flows/*.yml, to nodes.

    activities:
      orders:   {read: {files: landing/orders/*.csv, format: csv, schema: {id: int, amount: double}}}
      complete: {not_null: [id], from: orders}
      stored:   {write: {table: orders}, from: complete}
      kept:     {write: {table: orders_without_id}, from: complete.quarantine}

Each activity has the key of its kind, with its parameters, and `from`. A parameter that says it all can stand alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freshtide.core.errors import FreshtideError, Problem, choices
from freshtide.flows import Node
from freshtide.flows.activities import OUT
from freshtide.project.flows.activities import PARAMETERS, FindFunction
from freshtide.project.notation.validation import Written, check
from freshtide.project.notation.yamlfile import KeyPath, YamlFile

_FROM = "from"


class WrittenFlow(Written):
    """A flow in a file; its activities are read one by one."""

    name: str | None = None
    activities: dict[str, Any]


def read_flow(
    file: YamlFile, *, default_name: str, find_function: FindFunction
) -> tuple[tuple[str, tuple[Node, ...]] | None, list[Problem]]:
    """Name and activities, or None and what is wrong with each of them; how they fit together is another matter."""
    written, problems = check(WrittenFlow, file.value, file.origin)
    nodes: list[Node] = []
    for name, values in (written.activities if written else {}).items():
        node, more = _read_activity(file, name, values, find_function)
        problems += more
        if node is not None:
            nodes.append(node)
    if written is None or problems:
        return None, problems
    return (written.name or default_name, tuple(nodes)), []


def _read_activity(
    file: YamlFile, name: str, values: object, find_function: FindFunction
) -> tuple[Node | None, list[Problem]]:
    at: KeyPath = ("activities", name)
    kinds = [key for key in values if key != _FROM] if isinstance(values, Mapping) else []
    if not isinstance(values, Mapping) or len(kinds) != 1:
        message = f"The activity '{name}' must have one kind, and say where its rows come from."
        way_out = f"Write it like `{name}: {{filter: amount > 0, from: orders}}`. {choices('', PARAMETERS)}"
        return None, [Problem(message=message, origin=file.origin(at), way_out=way_out)]
    (kind,) = kinds
    at_kind = (*at, kind)
    if kind not in PARAMETERS:
        message = f"The activity '{name}' is of a kind that does not exist: '{kind}'."
        return None, [Problem(message=message, origin=file.origin(at_kind), way_out=choices(kind, PARAMETERS))]
    inputs, problems = _inputs(file, at, values.get(_FROM, []))
    model = PARAMETERS[kind]
    written, more = check(model, model.spelt_out(values[kind]), file.origin, within=at_kind)
    problems += more
    if written is None or problems:
        return None, problems
    try:
        activity = written.activity(find_function)
    except FreshtideError as error:
        return None, [Problem(message=error.message, origin=file.origin(at_kind), way_out=error.way_out)]
    return Node(name=name, activity=activity, inputs=inputs, origin=file.origin(at)), []


def _inputs(file: YamlFile, at: KeyPath, written: object) -> tuple[tuple[tuple[str, str], ...], list[Problem]]:
    """Outputs of other activities: `name`, or `name.output` where it has several."""
    labels = [written] if isinstance(written, str) else written
    if not isinstance(labels, list) or not all(isinstance(label, str) and label for label in labels):
        message = f"'from' of the activity '{at[-1]}' must name activities."
        way_out = "Write `from: orders`, `from: complete.quarantine` or `from: [orders, customers]`."
        return (), [Problem(message=message, origin=file.origin((*at, _FROM)), way_out=way_out)]
    parts = [label.partition(".") for label in labels]
    return tuple((producer, port or OUT) for producer, _, port in parts), []
