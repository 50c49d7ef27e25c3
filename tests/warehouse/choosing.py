"""What tests tell a warehouse of earlier updates, so that it chooses one way of computing a view or the other."""

from __future__ import annotations

from dataclasses import replace

from freshtide.core.choosing import Learnt, Way
from freshtide.core.definitions import fingerprints
from freshtide.storage import UpdateRecord
from tests.warehouse.shop import Shop

_QUICK, _DEAR = ((10, 0.001),) * 3, ((10, 1_000.0),) * 3


def teach(shop: Shop, view: str, *, dear: Way) -> None:
    """Let one way have taken long so far, and the other one not."""
    catalog, definitions = shop.warehouse.workbench.catalog, fingerprints(shop.warehouse.project.graph)
    full, changes = (_DEAR, _QUICK) if dear is Way.FULL else (_QUICK, _DEAR)
    learnt = Learnt(definition=definitions[view], full=full, changes=changes)
    catalog.tables.put(replace(catalog.tables.get(view), learnt=learnt))


def record_of(shop: Shop, table: str) -> UpdateRecord:
    snapshot = shop.warehouse.workbench.store.table(table).snapshot
    assert snapshot is not None
    assert snapshot.record is not None
    return snapshot.record


def way_of(shop: Shop, table: str) -> Way:
    """How the last update of a view was computed, by its commit."""
    record = record_of(shop, table)
    if record.from_changes:
        return Way.CHANGES
    return Way.ANEW if record.states else Way.FULL
