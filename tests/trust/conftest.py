"""Warehouses to break."""

from __future__ import annotations

from tests.warehouse.conftest import shop

__all__ = ["shop"]
