"""A flow as a graph: activities and the edges between their outputs and inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from freshtide.core.errors import Origin
from freshtide.flows.activities import OUT, Activity, Write

Port = tuple[str, str]
"""An activity and the name of one of its outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """From an output of one activity to an input of another."""

    producer: str
    port: str
    consumer: str
    number: int
    """Which input of the consumer."""

    @property
    def label(self) -> str:
        which = f" (input {self.number + 1})" if self.number else ""
        return f"{port_label(self.producer, self.port)} -> {self.consumer}{which}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An activity in its place."""

    name: str
    activity: Activity
    inputs: tuple[Port, ...] = ()
    """Where each input comes from."""
    origin: Origin | None = None

    @property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(
            Edge(producer=producer, port=port, consumer=self.name, number=number)
            for number, (producer, port) in enumerate(self.inputs)
        )


@dataclass(frozen=True, kw_only=True)
class FlowGraph:
    """A whole flow; its nodes are in the order of their declaration, which is also the order of Round Robin."""

    name: str
    nodes: Mapping[str, Node] = field(default_factory=dict)
    origin: Origin | None = None

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(edge for node in self for edge in node.edges)

    def consumers(self, name: str, port: str | None = None) -> tuple[Edge, ...]:
        """The edges that leave an activity, by one of its outputs or by any."""
        return self._leaving.get((name, port), ())

    @cached_property
    def _leaving(self) -> Mapping[tuple[str, str | None], tuple[Edge, ...]]:
        """Edges by producer and output, and by producer alone: a monitor asks at every step."""
        found: dict[tuple[str, str | None], tuple[Edge, ...]] = {}
        for edge in self.edges:
            for key in ((edge.producer, edge.port), (edge.producer, None)):
                found[key] = (*found.get(key, ()), edge)
        return found

    @property
    def writes(self) -> tuple[Node, ...]:
        return tuple(node for node in self if isinstance(node.activity, Write))


def port_label(producer: str, port: str) -> str:
    """An output as users write it."""
    return producer if port == OUT else f"{producer}.{port}"
