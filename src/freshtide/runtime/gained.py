"""Columns that feeds have gained beyond their declarations, as far as Spark can open tables with them."""

from __future__ import annotations

import logging
from dataclasses import replace

from freshtide.catalog import Catalog
from freshtide.core.feeds import Column, Feed

_logger = logging.getLogger(__name__)


def gained_columns(feed: Feed, catalog: Catalog) -> tuple[Column, ...]:
    """The columns of the catalog, without those that older versions kept and no table can have."""
    taken = {name.lower() for name in feed.column_names}
    kept: list[Column] = []
    for column in catalog.arrivals.extra_columns(feed.name):
        if not column.name.strip() or column.name.lower() in taken:
            _logger.warning(
                "Feed '%s' has gained a column '%s', without a name or other by case alone: it is left out.",
                feed.name,
                column.name,
            )
            continue
        taken.add(column.name.lower())
        # Times in a table are instants.
        kept.append(replace(column, type="timestamp") if column.type == "timestamp_ntz" else column)
    return tuple(kept)
