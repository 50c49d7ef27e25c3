"""Two versions of a project, and what a warehouse that runs the one would change to be the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshtide.project import Change, Changes, changes_between, digest_of

from .folder import CPU_FEED, CPU_TABLE, ProjectFolder

VIEWS = """
CREATE MATERIALIZED VIEW hot TBLPROPERTIES ('priority' = '2') AS SELECT time, router, cpu FROM cpu WHERE cpu > 0.9;
CREATE MATERIALIZED VIEW hottest AS SELECT time, router, cpu FROM hot WHERE cpu > 0.99;
"""


@pytest.fixture
def folder(tmp_path: Path) -> ProjectFolder:
    made = ProjectFolder(tmp_path)
    made.write("freshtide.yml", "name: net\ntracks: 2\n")
    made.write("feeds/cpu_feed.yml", CPU_FEED)
    made.write("tables/cpu.sql", CPU_TABLE)
    made.write("tables/views.sql", VIEWS)
    return made


def edited(folder: ProjectFolder, file: str, text: str) -> Changes:
    before = folder.load()
    folder.write(file, text)
    found = changes_between(before, folder.load())
    assert Changes.from_json(found.as_json()) == found
    return found


def only(changes: Changes) -> Change:
    (change,) = changes
    return change


def test_layout_comments_and_places_change_nothing(folder: ProjectFolder) -> None:
    before = digest_of(folder.load())
    text = "\n\n-- the hot ones\n" + VIEWS.replace("SELECT time, ", "SELECT\n    time,  ")
    assert not edited(folder, "tables/views.sql", text)
    assert digest_of(folder.load()) == before


def test_priorities_and_target_lags_take_effect_at_once(folder: ProjectFolder) -> None:
    text = VIEWS.replace("'priority' = '2'", "'priority' = '5', 'target_lag' = '90s'")
    changes = edited(folder, "tables/views.sql", text)
    assert str(only(changes)) == "table hot changed: priority 2 -> 5, target_lag none -> 1m 30s"
    assert (changes.anew, changes.restarts) == ((), ())


def test_a_view_that_says_something_else_is_computed_anew_with_all_above_it(folder: ProjectFolder) -> None:
    changes = edited(folder, "tables/views.sql", VIEWS.replace("cpu > 0.9;", "cpu > 0.8;"))
    assert changes.anew == ("hot", "hottest")
    assert [str(change) for change in changes] == ["table hot changed: query", "table hottest changed"]


def test_a_base_table_keeps_its_rows(folder: ProjectFolder) -> None:
    text = CPU_TABLE.replace("FROM STREAM cpu_feed", "FROM STREAM cpu_feed WHERE cpu >= 0")
    change = only(edited(folder, "tables/cpu.sql", text))
    assert not change.anew
    assert "rows that are there stay as they are; `freshtide backfill cpu`" in (change.note or "")


def test_tables_and_feeds_come_and_go(folder: ProjectFolder) -> None:
    added = edited(folder, "feeds/mem_feed.yml", CPU_FEED.replace("landing/cpu", "landing/mem"))
    assert str(only(added)) == "feed mem_feed added"
    added = edited(
        folder, "tables/mem.sql", CPU_TABLE.replace("cpu_feed", "mem_feed").replace("TABLE cpu", "TABLE mem")
    )
    assert only(added).note == "it begins with the files that the feed 'mem_feed' has"
    gone = edited(folder, "tables/mem.sql", "")
    assert str(only(gone)) == "table mem removed"
    assert only(gone).note == "its files stay as they are; nothing updates them any more"
    assert not gone.restarts


@pytest.mark.parametrize(
    ("settings", "told", "restart"),
    [
        ("tracks: 5", "setting tracks 2 -> 5", False),
        (
            "tracks: 2\nscheduler: edf",
            "setting scheduler changed: ordering target-lag -> edf, allocation, chopping slack -> 3",
            False,
        ),
        ("tracks: 2\nretry: {attempts: 2}", "setting retry changed: attempts 4 -> 2", False),
        ("tracks: 2\npoll: 2s", "setting poll 0.1s -> 2s", False),
        ("tracks: 2\nstorage: elsewhere", "setting storage warehouse -> elsewhere", True),
        ("tracks: 2\ncatalog: postgresql://a:secret@b/c", "setting catalog", True),
        ("tracks: 2\nspark: {driver_memory: 9g}", "setting spark changed: spark.driver.memory", True),
    ],
)
def test_settings_take_effect_at_once_or_need_a_restart(
    folder: ProjectFolder, settings: str, told: str, restart: bool
) -> None:
    changes = edited(folder, "freshtide.yml", f"name: net\n{settings}\n")
    assert str(only(changes)) == told
    assert (only(changes).restart is not None) == restart
    assert "secret" not in str(changes.as_json())


def test_what_is_open_or_in_memory_needs_a_restart(folder: ProjectFolder) -> None:
    latest = "CREATE STREAMING TABLE now TBLPROPERTIES ('update_key' = 'router', 'priority' = '1') "
    latest += "AS SELECT time, router, cpu FROM STREAM cpu_feed;"
    assert only(edited(folder, "tables/now.sql", latest)).restart is None
    assert only(edited(folder, "tables/now.sql", latest.replace("'1'", "'3'"))).restart is None
    keyed = edited(folder, "tables/now.sql", latest.replace("time, router, cpu", "time, router, cpu * 2 AS cpu"))
    assert "rows wait in memory" in (only(keyed).restart or "")
    assert "rows wait in memory" in (only(edited(folder, "tables/now.sql", "")).restart or "")
    folder.write("tables/now.sql", latest)
    feed = edited(folder, "feeds/cpu_feed.yml", CPU_FEED.replace("landing/cpu", "landing/routers"))
    assert [change.restart is not None for change in feed] == [True]


def test_tables_that_are_updated_together_with_others_need_a_restart(folder: ProjectFolder) -> None:
    text = VIEWS.replace("('priority' = '2')", "('priority' = '2', 'update_group' = 'warm')")
    change = only(edited(folder, "tables/views.sql", text))
    assert "what is updated together is one update" in (change.restart or "")
