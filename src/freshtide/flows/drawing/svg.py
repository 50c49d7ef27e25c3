"""Flows as SVG."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from xml.sax.saxutils import escape

from freshtide.flows.activities import OUT
from freshtide.flows.drawing.layout import MARGIN, Box, Line, Point, lay_out
from freshtide.flows.drawing.text import BLOCKS, LEGEND, summary
from freshtide.flows.graph import FlowGraph, Node
from freshtide.flows.policies import PlannedSubflow, plan_mixed

_CHARACTER = 7.2  # of a monospaced font of 12 pixels
_COLOURS = ("#dbeafe", "#dcfce7", "#fef3c7", "#fce7f3", "#ede9fe", "#cffafe", "#ffedd5", "#e7e5e4")
_LEGEND_HEIGHT = 28.0


def draw_svg(graph: FlowGraph) -> str:
    """A picture in which subflows have colours, and whatever waits for all of its input a heavy side."""
    planned = {
        name: (number, each)
        for number, stratum in enumerate(plan_mixed(graph))
        for each in stratum
        for name in each.subflow.nodes
    }
    texts = {node.name: _texts(node, *planned[node.name]) for node in graph}
    widths = {name: max(len(text) for text in lines) * _CHARACTER + 24 for name, lines in texts.items()}
    labels = {edge: len(_port(edge.port)) * _CHARACTER for edge in graph.edges}
    layout = lay_out(graph, widths, labels=labels)
    width = max(layout.width, len(LEGEND) * _CHARACTER + 2 * MARGIN)
    height = layout.height + _LEGEND_HEIGHT
    boxes = (
        part for node in graph for part in _box(node, layout.boxes[node.name], texts[node.name], planned[node.name][1])
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="ui-monospace, Menlo, Consolas, monospace" '
            'font-size="12">',
            f"<title>{escape(graph.name)}</title>",
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#64748b"/></marker></defs>',
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *(part for line in layout.lines for part in _line(line)),
            *boxes,
            f'<text x="{MARGIN:g}" y="{height - 14:g}" fill="#475569">{escape(LEGEND)}</text>',
            "</svg>",
            "",
        ]
    )


def _texts(node: Node, stratum: int, planned: PlannedSubflow) -> tuple[str, str, str]:
    mark = f"{BLOCKS} " if node.activity.blocks else ""
    return node.name, f"{mark}{node.activity.kind}", f"subflow {planned.subflow.number}, stratum {stratum}"


def _box(node: Node, box: Box, texts: tuple[str, str, str], planned: PlannedSubflow) -> Iterator[str]:
    colour = _COLOURS[planned.subflow.number % len(_COLOURS)]
    yield f'<g class="activity"><title>{escape(summary(node.activity))}</title>'
    yield (
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="6" fill="{colour}" '
        'stroke="#475569"/>'
    )
    if node.activity.blocks:
        yield f'<rect x="{box.x:g}" y="{box.y:g}" width="5" height="{box.height:g}" fill="#b91c1c"/>'
    styles = ('font-weight="bold" fill="#0f172a"', 'fill="#334155"', 'fill="#64748b" font-size="10"')
    for text, style, down in zip(texts, styles, (17, 32, 46), strict=True):
        yield f'<text x="{box.x + 12:g}" y="{box.y + down:g}" {style}>{escape(text)}</text>'
    yield "</g>"


def _line(line: Line) -> Iterator[str]:
    (x, y), *others = line.points
    path = [f"M{x:g},{y:g}"]
    # Straight past the boxes of a layer, in a curve from each layer to the next.
    for number, (one, other) in enumerate(itertools.pairwise((line.points[0], *others))):
        path.append(f"L{other[0]:g},{other[1]:g}" if number % 2 == 0 else _curve(one, other))
    yield (
        f'<path d="{" ".join(path)}" fill="none" stroke="#64748b" marker-end="url(#arrow)">'
        f"<title>{escape(line.edge.label)}</title></path>"
    )
    if _port(line.edge.port):
        start = line.points[0]
        yield (
            f'<text x="{start[0] + 6:g}" y="{start[1] - 4:g}" fill="#64748b" font-size="10">'
            f"{escape(line.edge.port)}</text>"
        )


def _curve(one: Point, other: Point) -> str:
    middle = (one[0] + other[0]) / 2
    return f"C{middle:g},{one[1]:g} {middle:g},{other[1]:g} {other[0]:g},{other[1]:g}"


def _port(port: str) -> str:
    return "" if port == OUT else port
