from __future__ import annotations

from pathlib import Path

import pytest

from freshtide.core.errors import ProjectError
from freshtide.core.grains import INSTANT, Grain
from freshtide.core.tables import Emit, Maintenance, SqlQuery
from freshtide.project import find_project, load_project

from .folder import CPU_FEED, CPU_TABLE, ProjectFolder


def test_a_project_has_its_settings_feeds_and_tables(cpu: ProjectFolder) -> None:
    project = cpu.load()
    assert project.root == cpu.root.resolve()
    assert project.settings.name == "network"
    assert list(project.feeds) == ["cpu_feed"]
    assert list(project.graph) == ["cpu"]
    assert project.notes == ()


def test_a_base_table_appends_the_rows_of_its_feed(cpu: ProjectFolder) -> None:
    table = cpu.load().graph["cpu"]
    assert (table.feed, table.sources, table.time_column) == ("cpu_feed", (), "time")
    assert (table.maintain, table.grain, table.linear, table.exact_time) == (
        Maintenance.APPEND,
        INSTANT,
        True,
        True,
    )
    assert table.period == 300.0
    assert isinstance(table.query, SqlQuery)
    assert "STREAM" not in table.query.text


def test_a_base_table_may_rename_the_time_column(cpu: ProjectFolder) -> None:
    cpu.write("tables/cpu.sql", "CREATE STREAMING TABLE cpu AS SELECT time AS at, cpu FROM STREAM cpu_feed;")
    assert cpu.load().graph["cpu"].time_column == "at"


def test_an_hourly_view_is_maintained_by_partitions(cpu: ProjectFolder) -> None:
    cpu.write(
        "tables/hourly.sql",
        """
        CREATE MATERIALIZED VIEW hourly TBLPROPERTIES ('priority' = '3', 'target_lag' = '1m', 'emit' = 'closed')
        AS SELECT date_trunc('hour', time) AS hour, avg(cpu) AS cpu FROM cpu GROUP BY date_trunc('hour', time)
        """,
    )
    table = cpu.load().graph["hourly"]
    assert (table.maintain, table.time_column, table.grain) == (
        Maintenance.PARTITIONS,
        "hour",
        Grain.of_seconds(3600),
    )
    assert (table.priority, table.target_lag, table.emit, table.period) == (3.0, 60.0, Emit.CLOSED, 300.0)


def test_a_row_wise_view_is_maintained_by_appending(cpu: ProjectFolder) -> None:
    cpu.write("tables/busy.sql", "CREATE MATERIALIZED VIEW busy AS SELECT * FROM cpu WHERE cpu > 90;")
    table = cpu.load().graph["busy"]
    assert (table.maintain, table.time_column, table.sources) == (Maintenance.APPEND, "time", ("cpu",))


def test_a_view_that_has_to_be_computed_in_full_is_noted_unless_that_was_asked_for(cpu: ProjectFolder) -> None:
    select = "AS SELECT router, max(cpu) AS cpu FROM cpu GROUP BY router"
    cpu.write("tables/peaks.sql", f"CREATE MATERIALIZED VIEW peaks {select};")
    project = cpu.load()
    assert project.graph["peaks"].maintain is Maintenance.FULL
    (note,) = project.notes
    assert str(note.origin) == "tables/peaks.sql:1"
    assert note.message.startswith("'peaks' is computed in full or from changes, whichever takes less time: ")
    assert project.graph["peaks"].may_follow
    for fixed in ("full", "incremental"):
        cpu.write("tables/peaks.sql", f"CREATE MATERIALIZED VIEW peaks TBLPROPERTIES ('maintain'='{fixed}') {select};")
        again = cpu.load()
        assert again.notes == ()
        assert not again.graph["peaks"].may_follow


def test_names_do_not_tell_upper_from_lower_case(cpu: ProjectFolder) -> None:
    cpu.write("tables/busy.sql", "CREATE MATERIALIZED VIEW busy AS SELECT * FROM CPU WHERE cpu > 90;")
    query = cpu.load().graph["busy"].query
    assert isinstance(query, SqlQuery)
    assert [reference.source for reference in query.references] == ["cpu"]
    (reference,) = query.references
    assert query.text[reference.start : reference.end] == "CPU", "the text stays the user's"


def test_the_period_of_a_view_is_the_largest_of_its_sources(cpu: ProjectFolder) -> None:
    cpu.write("feeds/mem_feed.yml", CPU_FEED.replace("period: 5m", "period: 1h"))
    cpu.write(
        "tables/mem.sql",
        """
        CREATE STREAMING TABLE mem AS SELECT time, router, cpu AS mem FROM STREAM mem_feed;
        CREATE MATERIALIZED VIEW both TBLPROPERTIES ('maintain' = 'full')
        AS SELECT cpu.time, cpu.router, cpu, mem FROM cpu JOIN mem ON cpu.router = mem.router;
        CREATE MATERIALIZED VIEW own TBLPROPERTIES ('maintain' = 'full', 'period' = '2h') AS SELECT * FROM both;
        """,
    )
    graph = cpu.load().graph
    assert (graph["both"].period, graph["own"].period) == (3600.0, 7200.0)


def test_feeds_may_share_a_file(empty: ProjectFolder) -> None:
    indented = "".join(f"    {line}\n" for line in CPU_FEED.splitlines())
    empty.write("feeds/all.yml", f"feeds:\n  - name: cpu_feed\n{indented}  - name: mem_feed\n{indented}")
    empty.write("tables/cpu.sql", CPU_TABLE)
    project = empty.load()
    assert list(project.feeds) == ["cpu_feed", "mem_feed"]
    assert [str(feed.origin) for feed in project.feeds.values()] == ["feeds/all.yml:2", "feeds/all.yml:11"]
    (note,) = project.notes
    assert note.message == "No table reads the feed 'mem_feed', so its files are not loaded."


def test_a_project_is_found_from_within(cpu: ProjectFolder) -> None:
    assert find_project(cpu.root / "tables") == cpu.root.resolve()


def test_a_folder_without_a_project_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match=r"There is no freshtide\.yml in .*`freshtide init`"):
        load_project(tmp_path)
    with pytest.raises(ProjectError, match=r"or above it.*`freshtide init`"):
        find_project(tmp_path)


def test_a_project_without_tables_is_told(empty: ProjectFolder) -> None:
    assert empty.problem().startswith("freshtide.yml:1: The project declares no tables.")
