"""Pages: what is stored is found again, takes no more pages than it needs, and keeps to the limit."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.latest.memories import NaiveMemory, PagedMemory
from freshtide.latest.pages import NOWHERE, ColumnKind, MemoryLimitError, PagePool, TupleLayout

LAYOUT = TupleLayout(columns=("int", "float", "object"))
WIDER = TupleLayout(columns=("int", "float", "object", "object"))
OWNERS = st.lists(st.integers(0, 30), max_size=120)


def _write(memory: PagedMemory | NaiveMemory, owner: int, number: int, *, block: int = 1) -> None:
    location = memory.locations[owner]
    for offset in range(block):
        for column, value in zip(memory.store.columns, _values(number + offset), strict=True):
            column[location + offset] = value


def _read(memory: PagedMemory | NaiveMemory, owner: int, *, block: int = 1) -> list[tuple[int, float, str]]:
    location = memory.locations[owner]
    numbers, floats, objects = memory.store.columns
    return [(numbers[place], floats[place], objects[place]) for place in range(location, location + block)]


def _values(number: int) -> tuple[int, float, str]:
    return number, number / 2, f"value {number}"


@given(OWNERS, st.integers(1, 3), st.integers(1, 6))
def test_whatever_is_added_and_removed_the_rest_stays_in_as_few_pages_as_it_needs(
    toggled: list[int], block: int, page_size: int
) -> None:
    memory = PagedMemory(PagePool(), LAYOUT, block=block, page_size=page_size)
    model: dict[int, int] = {}
    for number, owner in enumerate(toggled):
        if owner in model:
            memory.remove(owner)
            del model[owner]
        else:
            memory.add(owner)
            _write(memory, owner, number, block=block)
            model[owner] = number
        assert memory.pages == math.ceil(len(model) / page_size)
        assert memory.use.used == len(model)
    for owner, number in model.items():
        assert _read(memory, owner, block=block) == [_values(number + offset) for offset in range(block)]
    assert {owner for owner, location in enumerate(memory.locations) if location != NOWHERE} == set(model)


@given(OWNERS)
def test_no_page_is_held_by_two_memories_at_once(toggled: list[int]) -> None:
    pool = PagePool()
    memories = [PagedMemory(pool, LAYOUT, page_size=2) for _ in range(3)]
    model: dict[int, int] = {}
    for number, owner in enumerate(toggled):
        memory = memories[owner % 3]
        if owner in model:
            memory.remove(owner)
            del model[owner]
        else:
            memory.add(owner)
            _write(memory, owner, number)
            model[owner] = number
    assert all(_read(memories[owner % 3], owner) == [_values(number)] for owner, number in model.items())
    assert pool.used_bytes == sum(memory.pages for memory in memories) * 2 * LAYOUT.location_bytes


def test_nothing_that_was_removed_is_kept_alive() -> None:
    memory = PagedMemory(PagePool(), LAYOUT)
    for owner in range(10):
        memory.add(owner)
        _write(memory, owner, owner)
    for owner in range(0, 10, 3):
        memory.remove(owner)
    kept = {value for value in memory.store.objects[0] if value is not None}
    assert kept == {f"value {owner}" for owner in range(10) if owner % 3}


@given(OWNERS, st.integers(0, 12))
def test_the_limit_is_kept_and_a_refusal_leaves_everything_as_it_was(toggled: list[int], pages: int) -> None:
    limit = pages * 3 * LAYOUT.location_bytes
    pool = PagePool(limit=limit)
    memory = PagedMemory(pool, LAYOUT, page_size=3)
    model: dict[int, int] = {}
    for number, owner in enumerate(toggled):
        if owner in model:
            memory.remove(owner)
            del model[owner]
        elif len(model) < pages * 3:
            memory.add(owner)
            _write(memory, owner, number)
            model[owner] = number
        else:
            with pytest.raises(MemoryLimitError, match=f"{limit:,} bytes"):
                memory.add(owner)
        assert pool.allocated_bytes <= limit
    assert all(_read(memory, owner) == [_values(number)] for owner, number in model.items())


@pytest.mark.parametrize("kind", [PagedMemory, NaiveMemory])
@given(removed=st.sets(st.integers(0, 38)), page_size=st.integers(1, 5))
def test_what_one_layout_has_given_back_another_can_use(
    kind: type[PagedMemory | NaiveMemory], removed: set[int], page_size: int
) -> None:
    limit = 50 * LAYOUT.location_bytes
    pool = PagePool(limit=limit)
    first, kept = PagedMemory(pool, LAYOUT, page_size=page_size), kind(pool, LAYOUT, page_size=page_size)
    second = PagedMemory(pool, WIDER, page_size=1)
    for owner in range(40):
        memory = kept if owner == 39 else first
        memory.add(owner)
        _write(memory, owner, owner)
    for owner in removed:
        first.remove(owner)
    room = (limit - pool.used_bytes) // WIDER.location_bytes
    for owner in range(room):
        second.add(owner)
    with pytest.raises(MemoryLimitError):
        second.add(room)
    assert pool.allocated_bytes <= limit
    for owner in set(range(39)) - removed:
        assert _read(first, owner) == [_values(owner)]
    assert _read(kept, 39) == [_values(39)]


@given(OWNERS)
def test_a_naive_memory_keeps_a_location_for_every_owner_it_has_seen(toggled: list[int]) -> None:
    memory = NaiveMemory(PagePool(), LAYOUT)
    model: dict[int, int] = {}
    for number, owner in enumerate(toggled):
        if owner in model:
            memory.remove(owner)
            del model[owner]
        else:
            memory.add(owner)
            _write(memory, owner, number)
            model[owner] = number
    assert (memory.use.used, memory.use.allocated) == (len(model), len(set(toggled)))
    assert all(_read(memory, owner) == [_values(number)] for owner, number in model.items())


@pytest.mark.parametrize("kind", ["int", "float", "object"])
def test_a_location_takes_a_slot_per_column_and_one_for_its_owner(kind: ColumnKind) -> None:
    assert TupleLayout(columns=(kind,) * 3).location_bytes == 4 * 8
