"""Everything that is wrong with the structure of a flow, before anything runs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Literal, get_args, get_origin, get_type_hints

from freshtide.core.errors import Origin, Problem, choices, suggestion
from freshtide.core.paths import path_fault
from freshtide.flows.activities import (
    OTHERWISE,
    Read,
    Recordset,
    Router,
    SlowlyChanging,
    SurrogateKey,
    Write,
)
from freshtide.flows.graph import FlowGraph, Node, port_label
from freshtide.flows.options import FORMAT_OPTIONS, unknown_options
from freshtide.flows.routes import overlap

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def flow_problems(graph: FlowGraph) -> list[Problem]:
    """All of them, each with its place and way out."""
    return node_problems(graph.name, tuple(graph), origin=graph.origin)


def node_problems(flow: str, nodes: Sequence[Node], *, origin: Origin | None = None) -> list[Problem]:
    """The same for activities of which several may have one name; `origin` is the flow's own place."""
    by_name = {node.name: node for node in reversed(nodes)}
    return [
        *_flow_problems(flow, nodes, origin or next((node.origin for node in nodes), None)),
        *_names(nodes, by_name),
        *itertools.chain.from_iterable(_own_problems(node) for node in nodes),
        *itertools.chain.from_iterable(_input_problems(node, by_name) for node in nodes),
        *_untaken(nodes),
        *_cycles(nodes, by_name),
        *_shared_targets(nodes),
    ]


def described(node: Node) -> str:
    """An activity as messages call it."""
    return f"The {node.activity.kind} '{node.name}'"


def _flow_problems(flow: str, nodes: Sequence[Node], origin: Origin | None) -> Iterator[Problem]:
    if not _NAME.fullmatch(flow):
        yield Problem(message=f"'{flow}' cannot be the name of a flow.", origin=origin, way_out=_NAMES_ARE)
    if not any(isinstance(node.activity, Write | SlowlyChanging) for node in nodes):
        yield Problem(
            message=f"The flow '{flow}' writes nothing.",
            origin=origin,
            way_out="End it with a write to a table or to files, or with slowly_changing.",
        )


_NAMES_ARE = "Names are letters, digits and underscores, and begin with a letter."


def _names(nodes: Sequence[Node], by_name: Mapping[str, Node]) -> Iterator[Problem]:
    for node in nodes:
        if not _NAME.fullmatch(node.name):
            message = f"'{node.name}' cannot be the name of an activity."
            yield Problem(message=message, origin=node.origin, way_out=_NAMES_ARE)
        first = by_name[node.name]
        if first is not node:
            where = f" in {first.origin}" if first.origin else ""
            message = f"There are two activities called '{node.name}': the first is a {first.activity.kind}{where}."
            yield Problem(message=message, origin=node.origin, way_out="Rename one of them.")


def _own_problems(node: Node) -> Iterator[Problem]:
    activity = node.activity

    def problem(message: str, way_out: str) -> Problem:
        return Problem(message=f"{described(node)} {message}", origin=node.origin, way_out=way_out)

    for field in activity.needed:
        value = getattr(activity, field)
        if not value or (isinstance(value, tuple) and "" in value):
            yield problem(f"has nothing in '{field}'.", f"Write what its {field} is.")
    for field, hint in get_type_hints(type(activity)).items():
        value = getattr(activity, field)
        words = _words(hint)
        if words and value not in words:
            yield problem(f"cannot have {field} '{value}'.", choices(str(value), (str(word) for word in words if word)))
    match activity:
        case Read():
            yield from _recordset_problems(node, activity.source)
        case Write():
            yield from _recordset_problems(node, activity.target)
        case SlowlyChanging():
            yield from _recordset_problems(node, activity.target)
            if activity.type == 1 and activity.as_of is not None:
                yield problem("keeps no history, so 'as_of' says nothing.", "Make it of type 2, or take 'as_of' out.")
        case Router():
            yield from _route_problems(node, activity)


_KINDS = {"table": "a table", "files": "files", "feed": "a feed"}


def _words(hint: object) -> tuple[object, ...]:
    """What a field may be that takes one of some words, or nothing; () for other fields."""
    for part in (hint, *get_args(hint)):
        if get_origin(part) is Literal:
            return (*get_args(part), *(() if part is hint else (None,)))
    return ()


def _recordset_problems(node: Node, recordset: Recordset) -> Iterator[Problem]:
    named = [said for kind, said in _KINDS.items() if getattr(recordset, kind)]
    if len(named) != 1:
        listed = f"both {' and '.join(named)}" if named else "neither a table nor files"
        message = f"{described(node)} names {listed}."
        yield Problem(message=message, origin=node.origin, way_out="Give it one of table and files.")
    elif recordset.feed and isinstance(node.activity, Write):
        message = f"{described(node)} writes to the feed '{recordset.feed}'."
        yield Problem(message=message, origin=node.origin, way_out="Write to a table or to files.")
    if recordset.files and (fault := path_fault(recordset.files)):
        yield Problem(message=f"{described(node)}: {fault[0]}", origin=node.origin, way_out=fault[1])
    if recordset.format not in FORMAT_OPTIONS:
        message = f"{described(node)} cannot have files of the format '{recordset.format}'."
        yield Problem(message=message, origin=node.origin, way_out=choices(recordset.format, FORMAT_OPTIONS))
        return
    for option, way_out in unknown_options(recordset.format, recordset.options):
        message = f"{described(node)}: {recordset.format} has no option '{option}'."
        yield Problem(message=message, origin=node.origin, way_out=way_out)


def _route_problems(node: Node, router: Router) -> Iterator[Problem]:
    for route, condition in router.routes.items():
        if route == OTHERWISE or not _NAME.fullmatch(route):
            message = f"{described(node)} cannot have a route called '{route}'."
            why = "That is where rows go that fit no route." if route == OTHERWISE else _NAMES_ARE
            yield Problem(message=message, origin=node.origin, way_out=why)
        if not condition.strip():
            message = f"{described(node)} has no condition for the route '{route}'."
            yield Problem(message=message, origin=node.origin, way_out="Write which rows go there.")
    for (one, first), (other, second) in itertools.combinations(router.routes.items(), 2):
        reason = overlap(first, second)
        if reason is not None:
            yield Problem(
                message=(
                    f"{described(node)} has routes that overlap, '{one}' ({first}) and '{other}' ({second}): {reason}."
                ),
                origin=node.origin,
                way_out="A row goes one way only: narrow one of the conditions.",
            )


def _input_problems(node: Node, by_name: Mapping[str, Node]) -> Iterator[Problem]:
    activity = node.activity
    most, least, has = activity.most_inputs, activity.least_inputs, len(node.inputs)
    if has < least or (most is not None and has > most):
        takes = f"takes {least if most == least else f'at least {least}'} input{'' if least == 1 else 's'}"
        yield Problem(
            message=f"{described(node)} {takes if least else 'takes no input'}, and has {has}.",
            origin=node.origin,
            way_out="Name as many outputs of others in its 'from'." if least else "Take its 'from' out.",
        )
    for producer, port in node.inputs:
        found = by_name.get(producer)
        if found is None:
            yield Problem(
                message=f"{described(node)} takes rows from '{producer}', which is no activity of this flow.",
                origin=node.origin,
                way_out=suggestion(producer, by_name),
            )
        elif not found.activity.ports:
            yield Problem(
                message=f"{described(node)} takes rows from the {found.activity.kind} '{producer}', which gives none.",
                origin=node.origin,
                way_out="Take them from what it takes its own from.",
            )
        elif port not in found.activity.ports:
            yield Problem(
                message=f"{described(node)} takes rows from '{port_label(producer, port)}', which is no output of the "
                f"{found.activity.kind} '{producer}'.",
                origin=node.origin,
                way_out=suggestion(port, found.activity.ports),
            )


def _untaken(nodes: Sequence[Node]) -> Iterator[Problem]:
    taken = {each for node in nodes for each in node.inputs}
    for node in nodes:
        for port in node.activity.ports:
            if (node.name, port) not in taken and port not in node.activity.optional_ports:
                message = f"Nobody takes the rows that come out of '{port_label(node.name, port)}'."
                way_out = f"Write them somewhere, or take the {node.activity.kind} out."
                yield Problem(message=message, origin=node.origin, way_out=way_out)


def _cycles(nodes: Sequence[Node], by_name: Mapping[str, Node]) -> Iterator[Problem]:
    """One cycle after the other, each with its last edge taken out before the next is looked for."""
    producers = {node.name: [producer for producer, _ in node.inputs if producer in by_name] for node in nodes}
    while True:
        try:
            TopologicalSorter(producers).prepare()
        except CycleError as error:
            *around, _ = error.args[1]
            first = next(around.index(node.name) for node in nodes if node.name in around)
        else:
            return
        around = [*around[first:], *around[:first]]
        yield Problem(
            message=f"The rows of '{around[0]}' come back to it: {' -> '.join([*around, around[0]])}.",
            origin=by_name[around[0]].origin,
            way_out="Take one of these edges out.",
        )
        producers[around[0]] = [producer for producer in producers[around[0]] if producer != around[-1]]


def _shared_targets(nodes: Sequence[Node]) -> Iterator[Problem]:
    first: dict[tuple[str, str], Node] = {}
    for node in nodes:
        for target in written_recordsets(node):
            writer = first.setdefault(target.key, node)
            if writer is not node:
                where = f" in {writer.origin}" if writer.origin else ""
                message = (
                    f"{described(node)} writes the {target.label}, and so does the {writer.activity.kind} "
                    f"'{writer.name}'{where}."
                )
                yield Problem(
                    message=message, origin=node.origin, way_out="Unite the rows first, or write them elsewhere."
                )


def written_recordsets(node: Node) -> Sequence[Recordset]:
    """What an activity writes: its target, or the lookup table that it adds keys to."""
    match node.activity:
        case Write(target=target) | SlowlyChanging(target=target):
            return [target] if target.table or target.files else []
        case SurrogateKey(lookup=lookup) if lookup:
            return [Recordset(table=lookup)]
    return []
