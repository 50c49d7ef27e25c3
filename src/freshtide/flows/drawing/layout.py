"""Where activities and edges go in a drawing: layers from left to right, and nothing on top of anything else.

A layered layout after Sugiyama: an activity lies one layer behind the last of its producers. An edge over several
layers has a place of its own in each between, so that it goes past the boxes there. Places within a layer are ordered
by the mean of what they are connected with, sweep by sweep, so that few edges cross.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from freshtide.flows.graph import Edge, FlowGraph

BOX_HEIGHT = 52.0
MARGIN = 24.0
_LANE_HEIGHT = 12.0
_BETWEEN_PLACES = 24.0
_CURVE = 56.0
"""How wide the curve from one layer to the next is at least."""
_SWEEPS = 8

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """The place of an activity."""

    x: float
    y: float
    width: float
    height: float = BOX_HEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The way of an edge: two points per layer it comes through, where it enters and where it leaves."""

    edge: Edge
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    boxes: Mapping[str, Box]
    lines: tuple[Line, ...]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class _Place:
    """In a layer: of an activity, or of an edge that passes by."""

    layer: int
    name: str | None = None
    edge: Edge | None = None

    @property
    def height(self) -> float:
        return BOX_HEIGHT if self.name is not None else _LANE_HEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """Where columns and the places in them are."""

    ways: Mapping[Edge, Sequence[_Place]]
    columns: Sequence[Sequence[_Place]]
    tops: Mapping[_Place, float]
    lefts: Sequence[float]
    rights: Sequence[float]


def lay_out(graph: FlowGraph, widths: Mapping[str, float], *, labels: Mapping[Edge, float]) -> Layout:
    """A layout for boxes of these widths, with so much straight way behind the producer of each edge for its label."""
    grid = _grid(graph, widths, labels)
    boxes = {
        place.name: Box(x=grid.lefts[place.layer], y=grid.tops[place], width=widths[place.name])
        for column in grid.columns
        for place in column
        if place.name is not None
    }
    return Layout(
        boxes=boxes,
        lines=tuple(Line(edge=edge, points=_points(graph, edge, boxes, labels, grid)) for edge in graph.edges),
        width=max(grid.rights, default=0.0) + MARGIN,
        height=max((top + place.height for place, top in grid.tops.items()), default=0.0) + MARGIN,
    )


def _grid(graph: FlowGraph, widths: Mapping[str, float], labels: Mapping[Edge, float]) -> _Grid:
    layer_of = layers(graph)
    ways = {edge: _way(edge, layer_of) for edge in graph.edges}
    columns = _ordered(graph, layer_of, ways)
    room: dict[int, float] = {}
    for edge, label in labels.items():
        room[layer_of[edge.producer]] = max(label, room.get(layer_of[edge.producer], 0.0))
    lefts: list[float] = []
    rights: list[float] = []
    left = MARGIN
    for layer, column in enumerate(columns):
        lefts.append(left)
        rights.append(left + max(widths[place.name] for place in column if place.name is not None))
        left = rights[-1] + room.get(layer, 0.0) + _CURVE
    return _Grid(ways=ways, columns=columns, tops=_tops(columns), lefts=lefts, rights=rights)


def layers(graph: FlowGraph) -> dict[str, int]:
    """How many activities lie before each on the longest way from a source."""
    found: dict[str, int] = {}
    waiting = list(graph)
    while waiting:
        node = next(node for node in waiting if all(producer in found for producer, _ in node.inputs))
        found[node.name] = 1 + max((found[producer] for producer, _ in node.inputs), default=-1)
        waiting.remove(node)
    return found


def _way(edge: Edge, layer_of: Mapping[str, int]) -> tuple[_Place, ...]:
    first, last = layer_of[edge.producer], layer_of[edge.consumer]
    between = (_Place(layer, edge=edge) for layer in range(first + 1, last))
    return (_Place(first, name=edge.producer), *between, _Place(last, name=edge.consumer))


def _ordered(
    graph: FlowGraph, layer_of: Mapping[str, int], ways: Mapping[Edge, Sequence[_Place]]
) -> list[list[_Place]]:
    columns: list[list[_Place]] = [[] for _ in range(1 + max(layer_of.values(), default=-1))]
    for node in graph:
        columns[layer_of[node.name]].append(_Place(layer_of[node.name], name=node.name))
    before: dict[_Place, list[_Place]] = {}
    after: dict[_Place, list[_Place]] = {}
    for way in ways.values():
        for place in way[1:-1]:
            columns[place.layer].append(place)
        for one, other in itertools.pairwise(way):
            after.setdefault(one, []).append(other)
            before.setdefault(other, []).append(one)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for column in columns if forward else reversed(columns):
            _order(column, before if forward else after, columns)
    return columns


def _order(
    column: list[_Place], neighbours: Mapping[_Place, Sequence[_Place]], columns: Sequence[Sequence[_Place]]
) -> None:
    """Sort a column by the mean place of its neighbours; without any, a place stays where it is."""
    position = {place: index / len(each) for each in columns for index, place in enumerate(each)}

    def mean(place: _Place) -> float:
        near = [position[each] for each in neighbours.get(place, ())]
        return sum(near) / len(near) if near else position[place]

    column.sort(key=mean)


def _tops(columns: Sequence[Sequence[_Place]]) -> dict[_Place, float]:
    """Columns one place below the other, each in the middle of the height of the largest."""
    heights = [sum(place.height + _BETWEEN_PLACES for place in column) - _BETWEEN_PLACES for column in columns]
    tops: dict[_Place, float] = {}
    for column, height in zip(columns, heights, strict=True):
        top = MARGIN + (max(heights) - height) / 2
        for place in column:
            tops[place] = top
            top += place.height + _BETWEEN_PLACES
    return tops


def _points(
    graph: FlowGraph, edge: Edge, boxes: Mapping[str, Box], labels: Mapping[Edge, float], grid: _Grid
) -> tuple[Point, ...]:
    producer, consumer, way = boxes[edge.producer], boxes[edge.consumer], grid.ways[edge]
    # Those that go up leave above those that go down, lest they cross.
    leaving = sorted(graph.consumers(edge.producer), key=lambda other: grid.tops[grid.ways[other][1]])
    start = producer.y + producer.height * (1 + leaving.index(edge)) / (1 + len(leaving))
    end = consumer.y + consumer.height * (1 + edge.number) / (1 + len(graph[edge.consumer].inputs))
    points: list[Point] = [
        (producer.x + producer.width, start),
        (grid.rights[way[0].layer] + labels.get(edge, 0.0), start),
    ]
    for place in way[1:-1]:
        middle = grid.tops[place] + place.height / 2
        points += [(grid.lefts[place.layer], middle), (grid.rights[place.layer], middle)]
    return (*points, (consumer.x, end))
