"""Figures that Spark takes of rows on their way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Observation


def observed(observation: Observation, figures: Sequence[str]) -> dict[str, Any] | None:
    """The figures by name, once the rows have passed; None where Spark saw beforehand that there is none to read."""
    watching = observation._jo
    if watching is None or not watching.future().isCompleted():
        return None
    row = watching.getRow()
    if row.length() != len(figures):
        return None
    return {name: row.get(place) for place, name in enumerate(figures)}
