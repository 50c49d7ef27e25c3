from __future__ import annotations

import pytest

from freshtide.core.errors import UnknownTableError
from freshtide.observe import select_tables

from .shop import Shop


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        ([], {"orders", "clicks", "sales", "large_sales", "hourly"}),
        (["  "], {"orders", "clicks", "sales", "large_sales", "hourly"}),
        (["sales"], {"sales"}),
        (["*sales"], {"sales", "large_sales"}),
        (["*"], {"orders", "clicks", "sales", "large_sales", "hourly"}),
        (["+sales"], {"orders", "clicks", "sales"}),
        (["orders+"], {"orders", "sales", "large_sales", "hourly"}),
        (["+sales+"], {"orders", "clicks", "sales", "large_sales"}),
        (["hourly,clicks"], {"hourly", "clicks"}),
        (["hourly", " clicks , sales"], {"hourly", "clicks", "sales"}),
        (["?ourly"], {"hourly"}),
        (["[co]*"], {"clicks", "orders"}),
        (["+SALES"], {"orders", "clicks", "sales"}),
    ],
)
def test_tables_are_chosen_by_pattern(shop: Shop, patterns: list[str], chosen: set[str]) -> None:
    found = select_tables(shop.project.graph, patterns)
    assert set(found) == chosen
    assert list(found) == [name for name in shop.project.graph if name in chosen], "sources first"


@pytest.mark.parametrize("pattern", ["slaes", "+slaes", "slaes+", "sales,slaes"])
def test_a_pattern_that_fits_nothing_is_named_with_what_was_probably_meant(shop: Shop, pattern: str) -> None:
    with pytest.raises(UnknownTableError) as caught:
        select_tables(shop.project.graph, [pattern])
    assert caught.value.message == "There is no table 'slaes'."
    assert caught.value.way_out == "Did you mean 'sales'?"
