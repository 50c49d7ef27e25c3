"""Warehouses to break."""

from __future__ import annotations

from tests.catalog.conftest import catalog, url
from tests.warehouse.conftest import shop

__all__ = ["catalog", "shop", "url"]
