"""Flows drawn, with the strata and subflows that the Mixed Policy makes of them: as text, and as SVG.

Nothing here writes a file or knows a terminal: who wants a picture gets it as a string.
"""

from freshtide.flows.drawing.svg import draw_svg
from freshtide.flows.drawing.text import draw_text, summary

__all__ = ["draw_svg", "draw_text", "summary"]
