"""Drawings: every activity and edge is there, and nothing lies on top of anything else."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given

from freshtide.flows import Flow, FlowGraph
from freshtide.flows.drawing import draw_svg, draw_text
from freshtide.flows.drawing.layout import Box, Layout, lay_out, layers

from .archetypes import ARCHETYPES, butterfly, fork, line
from .drawn import flows

SVG = "{http://www.w3.org/2000/svg}"


def laid_out(graph: FlowGraph) -> Layout:
    """With boxes of different widths."""
    widths = {name: 60.0 + 9 * number for number, name in enumerate(graph.nodes)}
    return lay_out(graph, widths, labels={edge: 20.0 * (edge.port != "out") for edge in graph.edges})


def check_layout(graph: FlowGraph, layout: Layout) -> None:
    assert set(layout.boxes) == set(graph.nodes)
    for one, other in itertools.combinations(layout.boxes.values(), 2):
        apart = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert apart or one.y + one.height <= other.y or other.y + other.height <= one.y
    for box in layout.boxes.values():
        assert 0 <= box.x <= box.x + box.width <= layout.width
        assert 0 <= box.y <= box.y + box.height <= layout.height
    assert {line.edge for line in layout.lines} == set(graph.edges)
    for drawn in layout.lines:
        producer, consumer = layout.boxes[drawn.edge.producer], layout.boxes[drawn.edge.consumer]
        assert drawn.points[0][0] == producer.x + producer.width
        assert producer.y < drawn.points[0][1] < producer.y + producer.height
        assert drawn.points[-1][0] == consumer.x
        assert consumer.y < drawn.points[-1][1] < consumer.y + consumer.height
        assert all(one[0] <= other[0] for one, other in itertools.pairwise(drawn.points)), "from left to right"
        others = [box for name, box in layout.boxes.items() if name not in (drawn.edge.producer, drawn.edge.consumer)]
        # Every second piece is the straight one past a layer; between layers there are no boxes.
        for start, end in itertools.islice(itertools.pairwise(drawn.points), 0, None, 2):
            assert not any(crosses(box, start, end) for box in others)


def crosses(box: Box, one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether a level line goes through a box."""
    return box.y < one[1] < box.y + box.height and one[0] < box.x + box.width and other[0] > box.x


@pytest.mark.parametrize("name", ARCHETYPES)
def test_archetypes_are_laid_out_without_overlaps(name: str) -> None:
    graph = ARCHETYPES[name]().graph()
    check_layout(graph, laid_out(graph))


@given(flows())
def test_any_flow_is_laid_out_without_overlaps(graph: FlowGraph) -> None:
    check_layout(graph, laid_out(graph))


@given(flows())
def test_an_activity_lies_one_layer_behind_the_last_of_its_producers(graph: FlowGraph) -> None:
    found = layers(graph)
    for node in graph:
        producers = [found[producer] for producer, _ in node.inputs]
        assert found[node.name] == (1 + max(producers) if producers else 0)


@pytest.mark.parametrize("name", ARCHETYPES)
def test_a_picture_holds_every_activity_with_its_kind_and_every_edge(name: str) -> None:
    graph = ARCHETYPES[name]().graph()
    root = ET.fromstring(draw_svg(graph))
    shown = [[text.text for text in group.iter(f"{SVG}text")] for group in root.iter(f"{SVG}g")]
    kinds = {node.name: f"■ {node.activity.kind}" if node.activity.blocks else node.activity.kind for node in graph}
    assert {texts[0]: texts[1] for texts in shown} == kinds
    drawn = [path.findtext(f"{SVG}title") for path in root.iter(f"{SVG}path") if path.get("marker-end")]
    assert sorted(title or "" for title in drawn) == sorted(edge.label for edge in graph.edges)


def test_texts_fit_into_their_boxes() -> None:
    root = ET.fromstring(draw_svg(butterfly().graph()))
    for group in root.iter(f"{SVG}g"):
        box = next(group.iter(f"{SVG}rect"))
        right = float(box.get("x", 0)) + float(box.get("width", 0))
        for text in group.iter(f"{SVG}text"):
            # A monospaced letter is six tenths of the size of its font wide.
            width = 0.6 * float(text.get("font-size", 12)) * len(text.text or "")
            assert float(text.get("x", 0)) + width <= right


def test_outputs_of_a_router_are_named_on_their_edges() -> None:
    root = ET.fromstring(draw_svg(fork().graph()))
    assert {"low", "high"} <= {text.text for text in root.findall(f"{SVG}text")}


def test_what_users_write_cannot_break_the_picture() -> None:
    flow = Flow("odd")
    flow.read(table="a").filter("x < 5 AND name <> '</svg>&'").write(table="b")
    titles = [title.text for title in ET.fromstring(draw_svg(flow.graph())).iter(f"{SVG}title")]
    assert "x < 5 AND name <> '</svg>&'" in titles


def test_the_text_of_a_line_shows_one_subflow() -> None:
    assert draw_text(line().graph()).splitlines() == [
        "line: 5 activities, 1 subflow, 1 stratum",
        "",
        "stratum 0",
        "  subflow 0  minimum-cost",
        "      a  read        table a",
        "      b  filter      x > 0  ← a",
        "      c  not_null    x  ← b",
        "      d  expression  y  ← c",
        "      e  write       table e  ← d",
        "",
        "■ waits for all of its input",
    ]


def test_the_text_marks_what_blocks_and_names_the_outputs_that_rows_come_from() -> None:
    lines = draw_text(fork().graph()).splitlines()
    assert "    ■ f  aggregate   n  ← c.high" in lines
    assert "      d  expression  y  ← c.low" in lines
    assert [text for text in lines if text.startswith("stratum")] == [f"stratum {number}" for number in range(4)]
