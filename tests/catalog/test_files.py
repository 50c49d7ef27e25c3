from __future__ import annotations

import pytest

from freshtide.catalog import Catalog
from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.feeds import Column

from .arrivals import a_file


def paths(files: list[Arrival]) -> list[str]:
    return [file.position for file in files]


def test_a_registered_file_comes_back_as_it_was(catalog: Catalog) -> None:
    file = a_file(
        "/in/ü 'quoted' %.csv",
        columns=("time", "größe"),
        timestamp=1_777_000_000.123456,
        rows=2**40,
        size=2**41,
        reason="because",
    )
    stored = catalog.arrivals.register(file, ["cpu_table"])
    assert stored.id > 0
    assert catalog.arrivals.by_path("cpu", file.position) == stored
    assert catalog.arrivals.pending("cpu_table") == [stored]


def test_a_file_that_says_little_comes_back_so_too(catalog: Catalog) -> None:
    stored = catalog.arrivals.register(a_file(timestamp=None, rows=None, columns=None), ["t"])
    assert catalog.arrivals.pending("t") == [stored]
    assert (stored.timestamp, stored.rows, stored.columns) == (None, None, None)


def test_ids_follow_the_order_of_arrival(catalog: Catalog) -> None:
    first = catalog.arrivals.register_all([(a_file(f"/in/{number}"), ("t",)) for number in (3, 1, 2)])
    second = catalog.arrivals.register(a_file("/in/0"), ["t"])
    ids = [file.id for file in (*first, second)]
    assert ids == sorted(set(ids))
    assert paths(catalog.arrivals.pending("t")) == ["/in/3", "/in/1", "/in/2", "/in/0"]


def test_a_file_is_pending_for_every_table_of_its_feed_until_each_has_loaded_it(catalog: Catalog) -> None:
    file = catalog.arrivals.register(a_file(), ["a", "b"])
    catalog.arrivals.mark_loaded("a", [file.id], 1)
    assert catalog.arrivals.pending("a") == []
    assert catalog.arrivals.pending("b") == catalog.arrivals.loaded("a") == [file]
    assert catalog.arrivals.pending_counts() == {"b": 1}


@pytest.mark.parametrize(
    ("state", "is_pending"),
    [
        (ArrivalState.READY, True),
        (ArrivalState.PUNCTUATION, True),
        (ArrivalState.DUPLICATE, False),
        (ArrivalState.REFUSED, False),
        (ArrivalState.QUARANTINED, False),
    ],
)
def test_only_what_can_be_loaded_is_pending(catalog: Catalog, state: ArrivalState, is_pending: bool) -> None:
    catalog.arrivals.register(a_file(state=state), ["t"])
    assert bool(catalog.arrivals.pending("t")) is is_pending
    assert catalog.arrivals.pending_counts() == ({"t": 1} if is_pending else {})


def test_a_pending_file_that_is_quarantined_is_pending_no_more(catalog: Catalog) -> None:
    file = catalog.arrivals.register(a_file(), ["t"])
    catalog.arrivals.set_state(file.id, ArrivalState.QUARANTINED, "gone")
    assert catalog.arrivals.pending("t") == []
    assert catalog.arrivals.pending_counts() == {}
    (troubled,) = catalog.arrivals.in_state(ArrivalState.QUARANTINED)
    assert (troubled.id, troubled.reason) == (file.id, "gone")


def test_a_quarantined_file_that_comes_again_takes_the_place_of_its_old_self(catalog: Catalog) -> None:
    catalog.arrivals.register(a_file(state=ArrivalState.QUARANTINED, reason="torn"), ["t"])
    mended = catalog.arrivals.register(a_file(size=20), ["t"])
    assert catalog.arrivals.in_state(ArrivalState.QUARANTINED) == []
    assert catalog.arrivals.pending("t") == [mended]
    assert catalog.arrivals.counts() == {"cpu": {"ready": 1}}


def test_a_file_quarantined_after_it_was_announced_can_come_again(catalog: Catalog) -> None:
    """It was registered as ready, changed before it could be loaded, and is now taken up again."""
    announced = catalog.arrivals.register(a_file(), ["a", "b"])
    catalog.arrivals.set_state(announced.id, ArrivalState.QUARANTINED, "changed after it had settled")
    mended = catalog.arrivals.register(a_file(size=20), ["a", "b"])
    assert catalog.arrivals.pending("a") == catalog.arrivals.pending("b") == [mended]
    catalog.arrivals.mark_loaded("a", [mended.id], 1)
    assert catalog.arrivals.loaded("a") == [mended]


def test_a_file_keeps_its_place_in_the_order_of_arrival_whatever_becomes_of_it(catalog: Catalog) -> None:
    first = catalog.arrivals.register(a_file(arrived_at=1.0, state=ArrivalState.QUARANTINED), ["t"])
    catalog.arrivals.register(a_file("/in/b.csv"), ["t"])
    mended = catalog.arrivals.register(a_file(arrived_at=9.0, digest="m" * 64), ["t"])
    assert (mended.id, mended.arrived_at) == (first.id, 1.0)
    assert paths(catalog.arrivals.pending("t")) == ["/in/a.csv", "/in/b.csv"]


def test_a_file_that_comes_again_is_pending_only_for_tables_that_have_not_loaded_it(catalog: Catalog) -> None:
    file = catalog.arrivals.register(a_file(), ["loaded", "waits"])
    catalog.arrivals.mark_loaded("loaded", [file.id], 1)
    catalog.arrivals.set_state(file.id, ArrivalState.QUARANTINED, "unreadable")
    assert catalog.arrivals.contents("cpu", [file.digest]) == {file.digest: {file.position}}, "its rows are in a table"
    again = catalog.arrivals.register(a_file(), ["loaded", "waits", "new"])
    assert catalog.arrivals.loaded("loaded") == [again]
    assert catalog.arrivals.pending("loaded") == []
    assert catalog.arrivals.pending("waits") == catalog.arrivals.pending("new") == [again]
    assert catalog.arrivals.outdated_tables() == set()


def test_tables_that_have_loaded_content_that_was_corrected_are_known_until_they_have_the_new(catalog: Catalog) -> None:
    old = catalog.arrivals.register(a_file(digest="a" * 64), ["t", "u"])
    catalog.arrivals.mark_loaded("t", [old.id], 1)
    new = catalog.arrivals.register(a_file(digest="b" * 64), ["t", "u"])
    assert catalog.arrivals.outdated_tables() == {"t"}
    catalog.arrivals.mark_loaded("u", [old.id], 1, contents={old.id: old.digest})
    assert catalog.arrivals.outdated_tables() == {"t", "u"}, "it was loading the old one when the new one came"
    catalog.arrivals.mark_loaded("u", [new.id], 2, contents={new.id: new.digest})
    assert catalog.arrivals.outdated_tables() == {"t"}
    catalog.arrivals.register(a_file(digest="a" * 64), ["t", "u"])
    assert catalog.arrivals.outdated_tables() == {"u"}


def test_a_refusal_is_forgotten_when_the_file_comes_again(catalog: Catalog) -> None:
    file = catalog.arrivals.register(a_file(), ["t"])
    for sha256 in ("b" * 64, "c" * 64):
        catalog.arrivals.register(a_file(digest=sha256, state=ArrivalState.REFUSED), ["t"])
    assert [refused.digest for refused in catalog.arrivals.in_state(ArrivalState.REFUSED)] == ["c" * 64]
    assert catalog.arrivals.register(file, ["t"]) == file
    assert catalog.arrivals.in_state(ArrivalState.REFUSED) == []


def test_a_refused_file_does_not_push_a_quarantined_one_aside(catalog: Catalog) -> None:
    old = catalog.arrivals.register(a_file(state=ArrivalState.QUARANTINED), ["t"])
    catalog.arrivals.register(a_file(state=ArrivalState.REFUSED, size=99), ["t"])
    assert catalog.arrivals.by_path("cpu", "/in/a.csv") == old
    assert len(catalog.arrivals.in_state(ArrivalState.QUARANTINED, ArrivalState.REFUSED)) == 2


def test_a_path_is_known_by_its_newest_record(catalog: Catalog) -> None:
    catalog.arrivals.register(a_file(size=1, modified_ns=1), ["t"])
    catalog.arrivals.register(a_file(size=2, modified_ns=2, state=ArrivalState.REFUSED), ["t"])
    catalog.arrivals.register(a_file("/in/b.csv", size=3, modified_ns=3), ["t"])
    catalog.arrivals.register(a_file(feed="disk", size=4, modified_ns=4), ["t"])
    assert catalog.arrivals.known_paths("cpu") == {"/in/a.csv": (2, 2), "/in/b.csv": (3, 3)}
    assert catalog.arrivals.known_paths("nobody") == {}
    known = catalog.arrivals.by_path("cpu", "/in/a.csv")
    assert known is not None
    assert known.size == 1, "what was refused never took its place"


def test_content_is_known_by_feed_as_long_as_it_holds_rows(catalog: Catalog) -> None:
    catalog.arrivals.register(a_file("/in/full", digest="f" * 64), ["t"])
    catalog.arrivals.register(a_file("/in/uncounted", digest="u" * 64, rows=None), ["t"])
    catalog.arrivals.register(a_file("/in/empty", digest="e" * 64, rows=0), ["t"])
    catalog.arrivals.register(a_file("/in/bad", digest="b" * 64, state=ArrivalState.QUARANTINED), ["t"])
    catalog.arrivals.register(a_file("/in/mark", digest="m" * 64, state=ArrivalState.PUNCTUATION), ["t"])
    hashes = [letter * 64 for letter in "fuebmx"]
    known = {letter: letter * 64 in catalog.arrivals.contents("cpu", hashes) for letter in "fuebmx"}
    assert known == {"f": True, "u": True, "e": False, "b": False, "m": False, "x": False}
    assert catalog.arrivals.contents("disk", hashes) == {}


def test_the_next_load_is_decided_by_the_first_files_due_and_what_could_hold_punctuation_back(
    catalog: Catalog,
) -> None:
    for name, stamp in (("d", 40.0), ("c", 30.0), ("b", 20.0), ("a", 20.0), ("none", None), ("far", 90.0)):
        catalog.arrivals.register(a_file(path=f"/in/{name}", timestamp=stamp), ["cpu"])
    catalog.arrivals.register(a_file(path="/in/p", timestamp=25.0, state=ArrivalState.PUNCTUATION), ["cpu"])

    def first(most: int) -> list[str]:
        return [file.position for file in catalog.arrivals.pending_first("cpu", upto=50.0, most=most)]

    assert first(3) == ["/in/none", "/in/a", "/in/b", "/in/d", "/in/p"]
    assert first(9) == ["/in/none", "/in/a", "/in/b", "/in/c", "/in/d", "/in/far", "/in/p"]
    assert catalog.arrivals.pending_stamps("cpu") == {20.0, 25.0, 30.0, 40.0, 90.0, None}
    assert catalog.arrivals.pending_stamps("cpu", upto=50.0) == {20.0, 25.0, 30.0, 40.0, None}
    assert catalog.arrivals.pending_stamps("disk") == set()


def test_thousands_of_files_are_registered_and_loaded_as_few_are(catalog: Catalog) -> None:
    arrivals = [(a_file(path=f"/in/{number:05d}", digest=f"{number:064d}"), ("cpu",)) for number in range(2_500)]
    registered = catalog.arrivals.register_all(arrivals)
    assert [file.id for file in registered] == sorted(file.id for file in registered)
    assert [file.position for file in registered] == [file.position for file, _ in arrivals]
    assert catalog.arrivals.by_paths("cpu", [file.position for file in registered]) == {
        f.position: f for f in registered
    }
    assert len(catalog.arrivals.contents("cpu", [file.digest for file in registered])) == 2_500
    catalog.arrivals.mark_loaded("cpu", [file.id for file in registered[:2_100]], 1)
    assert catalog.arrivals.pending_counts() == {"cpu": 400}


def test_a_new_table_adopts_the_files_of_its_feed_and_those_it_knows_stay_as_they_are(catalog: Catalog) -> None:
    one = catalog.arrivals.register(a_file("/in/1"), ["old"])
    two = catalog.arrivals.register(a_file("/in/2", state=ArrivalState.PUNCTUATION), ["old"])
    catalog.arrivals.register(a_file("/in/3", state=ArrivalState.QUARANTINED), ["old"])
    catalog.arrivals.register(a_file("/in/4", feed="disk"), ["other"])
    catalog.arrivals.mark_loaded("old", [one.id], 1)
    for _ in range(2):
        catalog.arrivals.adopt("new", "cpu")
        catalog.arrivals.adopt("old", "cpu")
    assert catalog.arrivals.pending("new") == [one, two]
    assert catalog.arrivals.pending("old") == [two]
    assert catalog.arrivals.loaded("old") == [one]


def test_what_later_updates_had_loaded_can_be_made_pending_again(catalog: Catalog) -> None:
    files = [catalog.arrivals.register(a_file(f"/in/{number}"), ["t", "u"]) for number in range(1, 5)]
    for number, file in enumerate(files, start=1):
        catalog.arrivals.mark_loaded("t", [file.id], number)
        catalog.arrivals.mark_loaded("u", [file.id], number)
    catalog.arrivals.unload_after("t", 2)
    assert catalog.arrivals.loaded("t") == files[:2]
    assert catalog.arrivals.pending("t") == files[2:]
    assert catalog.arrivals.loaded("u") == files
    catalog.arrivals.unload_after("t", 0)
    assert catalog.arrivals.pending("t") == files


def test_the_rows_to_be_found_in_a_table_are_those_of_the_files_it_has_loaded(catalog: Catalog) -> None:
    files = [catalog.arrivals.register(a_file(f"/in/{rows}", rows=rows), ["t", "u"]) for rows in (5, 7, None, 11)]
    mark = catalog.arrivals.register(a_file("/in/mark", rows=1, state=ArrivalState.PUNCTUATION), ["t"])
    catalog.arrivals.mark_loaded("t", [file.id for file in files[:3]] + [mark.id], 1)
    assert catalog.arrivals.expected_rows("t") == (3, 12)
    assert catalog.arrivals.expected_rows("u") == (0, 0)


def test_files_are_counted_by_feed_and_state(catalog: Catalog) -> None:
    for number, state in enumerate((ArrivalState.READY, ArrivalState.READY, ArrivalState.DUPLICATE)):
        catalog.arrivals.register(a_file(f"/in/{number}", state=state), ["t"])
    catalog.arrivals.register(a_file(feed="disk"), ["d"])
    assert catalog.arrivals.counts() == {"cpu": {"ready": 2, "duplicate": 1}, "disk": {"ready": 1}}
    assert paths(catalog.arrivals.in_state(ArrivalState.READY, feed="disk")) == ["/in/a.csv"]
    assert len(catalog.arrivals.in_state(ArrivalState.READY)) == 3


def test_the_newest_time_stamp_of_a_feed_is_that_of_what_can_be_loaded(catalog: Catalog) -> None:
    assert catalog.arrivals.latest_timestamp("cpu") is None
    catalog.arrivals.register(a_file("/in/1", timestamp=None), ["t"])
    assert catalog.arrivals.latest_timestamp("cpu") is None
    catalog.arrivals.register(a_file("/in/2", timestamp=-5.0), ["t"])
    catalog.arrivals.register(a_file("/in/3", timestamp=99.0, state=ArrivalState.QUARANTINED), ["t"])
    assert catalog.arrivals.latest_timestamp("cpu") == -5.0
    catalog.arrivals.register(a_file("/in/4", timestamp=7.0, state=ArrivalState.PUNCTUATION), ["t"])
    assert catalog.arrivals.latest_timestamp("cpu") == 7.0


def test_columns_that_a_feed_gains_are_remembered_once_and_in_order(catalog: Catalog) -> None:
    assert catalog.arrivals.extra_columns("cpu") == ()
    catalog.arrivals.add_columns("cpu", [Column(name="b", type="string"), Column(name="a", type="int")])
    catalog.arrivals.add_columns("cpu", [Column(name="a", type="string"), Column(name="c", type="string")])
    catalog.arrivals.add_columns("disk", [Column(name="z", type="string")])
    assert [(column.name, column.type) for column in catalog.arrivals.extra_columns("cpu")] == [
        ("b", "string"),
        ("a", "int"),
        ("c", "string"),
    ]


def test_what_is_registered_survives_a_restart(catalog: Catalog, url: str) -> None:
    file = catalog.arrivals.register(a_file(), ["t"])
    again = Catalog.open(url)
    assert again.arrivals.pending("t") == [file]
    again.close()
