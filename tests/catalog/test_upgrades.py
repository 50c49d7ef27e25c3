"""Catalogs that are opened for the first time, or were made by an earlier version."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from sqlalchemy import create_engine, insert, inspect, text
from sqlalchemy.exc import IntegrityError

from freshtide.catalog import Catalog
from freshtide.catalog.rows import values_of
from freshtide.catalog.schema import files, loads, metadata
from freshtide.core.arrivals import ArrivalState
from tests.catalogs import empty_catalog

from .arrivals import a_file

_STARTS = 4


def test_a_path_is_registered_once(catalog: Catalog) -> None:
    first = catalog.arrivals.register(a_file(), ["t"])
    again = catalog.arrivals.register(a_file(size=11), ["t"])
    assert again.id == first.id
    assert catalog.arrivals.pending("t") == [again]
    assert catalog.arrivals.register(a_file(feed="disk"), ["d"]).id != first.id
    with pytest.raises(IntegrityError), catalog._engine.begin() as connection:
        # As another process does that has not seen it come.
        connection.execute(insert(files).values(values_of(a_file(), files)))


def test_refused_content_is_kept_beside_what_was_registered_and_only_the_newest(catalog: Catalog) -> None:
    first = catalog.arrivals.register(a_file(), ["t"])
    for size in (11, 12):
        refused = catalog.arrivals.register(
            a_file(size=size, state=ArrivalState.REFUSED, reason="other content"), ["t"]
        )
    assert catalog.arrivals.in_state(ArrivalState.REFUSED) == [refused]
    assert catalog.arrivals.counts() == {"cpu": {"ready": 1, "refused": 1}}
    assert catalog.arrivals.pending("t") == [first]
    catalog.arrivals.refusals.forget("cpu", first.position)
    assert catalog.arrivals.in_state(ArrivalState.REFUSED) == []


def test_a_catalog_of_an_earlier_version_keeps_what_it_knew_with_one_record_per_path(url: str, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    _make_old(url)
    engine = create_engine(url)
    with engine.begin() as connection:
        for number, file in enumerate(
            (
                a_file("/in/twice"),
                a_file("/in/twice"),
                a_file("/in/once"),
                a_file("/in/once", state=ArrivalState.REFUSED, size=20, reason="other content"),
            ),
            start=1,
        ):
            connection.execute(insert(files).values(id=number, **values_of(file, files)))
        for table, file_id, loaded in (("a", 1, None), ("a", 2, 7), ("b", 1, 3), ("a", 3, 2)):
            connection.execute(insert(loads).values(table_name=table, file_id=file_id, number=loaded))
    engine.dispose()
    catalog = Catalog.open(url)
    try:
        assert [file.position for file in catalog.arrivals.loaded("a")] == ["/in/twice", "/in/once"]
        assert [file.position for file in catalog.arrivals.loaded("b")] == ["/in/twice"]
        assert catalog.arrivals.pending_counts() == {}
        (refused,) = catalog.arrivals.in_state(ArrivalState.REFUSED)
        assert (refused.position, refused.size, refused.reason) == ("/in/once", 20, "other content")
        with pytest.raises(IntegrityError), catalog._engine.begin() as connection:
            connection.execute(insert(files).values(values_of(a_file("/in/twice"), files)))
    finally:
        catalog.close()


def test_a_catalog_of_an_earlier_version_finds_what_ended_lately_by_an_index(url: str, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    engine = create_engine(url)
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(text("DROP INDEX updates_by_end"))
        connection.execute(text("CREATE INDEX updates_by_status ON updates (status)"))
    Catalog.open(url).close()
    assert {index["name"] for index in inspect(engine).get_indexes("updates")} == {"updates_by_table", "updates_by_end"}
    engine.dispose()


def _make_old(url: str) -> None:
    """The tables and the index on paths as they were before a path was registered once."""
    engine = create_engine(url)
    metadata.create_all(engine, tables=[files, loads])
    with engine.begin() as connection:
        connection.execute(text("DROP INDEX files_once_by_path"))
        connection.execute(text("CREATE INDEX files_by_path ON files (feed, path)"))
    engine.dispose()


def _open(url: str) -> str | None:
    """What kept a process from opening the catalog."""
    try:
        Catalog.open(url).close()
    except Exception as error:
        return repr(error)
    return None


def test_first_starts_at_the_same_moment_do_not_disturb_each_other(url: str, tmp_path: Path) -> None:
    with ProcessPoolExecutor(_STARTS, mp_context=get_context("spawn")) as starts:
        list(starts.map(_open, [f"sqlite:///{tmp_path / 'other.db'}"] * _STARTS))  # until all of them are there
        for _ in range(15):
            empty_catalog(tmp_path / "state")
            assert [*starts.map(_open, [url] * _STARTS)] == [None] * _STARTS
    engine = create_engine(url)
    assert set(metadata.tables) <= set(inspect(engine).get_table_names())
    engine.dispose()
