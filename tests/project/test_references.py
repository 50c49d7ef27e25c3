"""Reference tables as they are declared: what is one, how views over them are maintained, and what is told."""

from __future__ import annotations

import pytest

from .folder import ProjectFolder

ROUTERS = """\
path: landing/routers/*.csv
format: csv
schema: {router: string, site: string}
"""
TABLE = "CREATE STREAMING TABLE routers AS SELECT * FROM STREAM routers_feed;\n"
VIEW = "CREATE MATERIALIZED VIEW v TBLPROPERTIES ({}) AS SELECT * FROM routers"
JOINED = "SELECT c.time, c.cpu, r.site FROM cpu c JOIN routers r ON c.router = r.router"


@pytest.fixture
def routers(cpu: ProjectFolder) -> ProjectFolder:
    """With the feed `routers_feed`, whose rows have no time, and the table `routers`."""
    cpu.write("feeds/routers_feed.yml", ROUTERS)
    cpu.write("tables/routers.sql", TABLE)
    return cpu


def view(folder: ProjectFolder, query: str, properties: str = "") -> None:
    clause = f"TBLPROPERTIES ({properties}) " if properties else ""
    folder.write("tables/view.sql", f"CREATE MATERIALIZED VIEW busy {clause}AS {query};")


@pytest.mark.parametrize(
    ("query", "maintain"),
    [
        (JOINED, "append"),
        (JOINED.replace("JOIN", "LEFT JOIN"), "append"),
        ("SELECT * FROM cpu WHERE router IN (SELECT router FROM routers)", "append"),
        (
            "SELECT date_trunc('hour', c.time) AS hour, r.site, max(c.cpu) AS cpu FROM cpu c JOIN routers r "
            "ON c.router = r.router GROUP BY 1, 2",
            "partitions",
        ),
        ("SELECT r.site, c.time FROM routers r LEFT JOIN cpu c ON c.router = r.router", "full"),
    ],
)
def test_a_view_keeps_the_maintenance_that_it_has_by_its_timed_sources(
    routers: ProjectFolder, query: str, maintain: str
) -> None:
    view(routers, query, "'maintain' = 'full'" if maintain == "full" else "")
    graph = routers.load().graph
    assert (graph["busy"].maintain, graph["busy"].is_reference) == (maintain, False)
    assert (graph["busy"].timed_sources, graph["busy"].reference_sources) == (("cpu",), ("routers",))
    assert graph["busy"].period == 300.0


def test_a_view_of_nothing_but_reference_tables_is_one_itself(routers: ProjectFolder) -> None:
    view(routers, "SELECT site, count(*) AS n FROM routers GROUP BY site", "'maintain' = 'full'")
    routers.write(
        "tables/over.sql", "CREATE MATERIALIZED VIEW over AS SELECT c.time, b.n FROM cpu c JOIN busy b ON b.site = 'x';"
    )
    graph = routers.load().graph
    assert graph["busy"].is_reference
    assert (graph["over"].is_reference, graph["over"].maintain) == (False, "append")
    assert graph.contents_of("over") == ("routers",)


def test_an_update_table_that_is_declared_as_reference_lets_facts_be_appended(routers: ProjectFolder) -> None:
    timed = ROUTERS.replace("site: string}", "site: string, since: timestamp}\ntime_column: since")
    routers.write("feeds/routers_feed.yml", timed)
    newest = TABLE.replace(" AS", " TBLPROPERTIES ('update_key' = 'router') AS")
    routers.write("tables/routers.sql", newest)
    view(routers, JOINED)
    graph = routers.load().graph
    assert (graph["busy"].maintain, graph.is_update_stream("busy")) == ("full", True)
    routers.write("tables/routers.sql", newest.replace("'update_key'", "'reference' = 'true', 'update_key'"))
    graph = routers.load().graph
    assert (graph["busy"].maintain, graph.is_update_stream("busy")) == ("append", False)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (
            {"tables/routers.sql": TABLE.replace(" AS", " TBLPROPERTIES ('reference' = 'false') AS")},
            "tables/routers.sql:1: 'routers' cannot but be a reference table: its feed 'routers_feed' has no time "
            "column. Take 'reference' out.",
        ),
        (
            {"tables/routers.sql": TABLE.replace(" AS", " TBLPROPERTIES ('reference' = 'perhaps') AS")},
            "tables/routers.sql:1: 'perhaps' is not true or false. Known: false, true.",
        ),
        (
            {"tables/routers.sql": TABLE.replace(" AS", " TBLPROPERTIES ('update_key' = 'router') AS")},
            "tables/routers.sql:1: 'routers' keeps the newest row of each key, and the rows of 'routers_feed' have no "
            "time. Take 'update_key' out and declare `content: newest` in the feed, whose newest file is then all that "
            "there is; or declare the 'time_column' that tells which row is the newer one.",
        ),
        (
            {"tables/routers.sql": TABLE.replace(" AS", " TBLPROPERTIES ('time_column' = 'site') AS")},
            "tables/routers.sql:1: 'routers' declares the time column 'site', and the rows of its feed 'routers_feed' "
            "have no time. Declare 'time_column' in the feed, or take it out here.",
        ),
        (
            {
                "feeds/routers_feed.yml": ROUTERS + "content: newest\n",
                "tables/routers.sql": TABLE.replace(" AS", " TBLPROPERTIES ('update_group' = 'together') AS"),
            },
            "tables/routers.sql:1: 'routers' cannot have 'update_group': its feed 'routers_feed' replaces its rows by "
            "those of its newest file. Take it out, or declare `content: all` in the feed.",
        ),
        (
            {"tables/view.sql": VIEW.format("'maintain' = 'append'")},
            "tables/view.sql:1: The view 'v' cannot be maintained by append: it reads nothing but reference tables, "
            "which do not move on in time. Leave 'maintain' out: it is computed anew when one of them changes.",
        ),
        (
            {"tables/view.sql": VIEW.format("'reference' = 'false'")},
            "tables/view.sql:1: 'v' cannot but be a reference table: all tables that it reads are. Take 'reference' "
            "out.",
        ),
    ],
)
def test_a_mistake_is_told_with_the_way_out(routers: ProjectFolder, files: dict[str, str], problem: str) -> None:
    for name, text in files.items():
        routers.write(name, text)
    assert routers.problem() == problem


def test_a_feed_that_forgets_its_time_column_is_told_what_follows_from_that(routers: ProjectFolder) -> None:
    routers.write("feeds/routers_feed.yml", ROUTERS.replace("site: string", "since: timestamp"))
    (note,) = routers.load().notes
    assert str(note) == (
        "feeds/routers_feed.yml:1: 'routers' is a reference table, since the feed 'routers_feed' names no "
        "'time_column': views take it as it is, and do not wait for it. If it goes by 'since', declare `time_column: "
        "since`. If not, declare 'reference' = 'true' on 'routers'."
    )
    routers.write("tables/routers.sql", TABLE.replace(" AS", " TBLPROPERTIES ('reference' = 'true') AS"))
    assert routers.load().notes == ()


def test_a_join_that_waits_for_a_slow_source_is_named_with_the_way_out(routers: ProjectFolder) -> None:
    timed = ROUTERS.replace("site: string}", "site: string, since: timestamp}\ntime_column: since\nperiod: 7d")
    routers.write("feeds/routers_feed.yml", timed)
    view(routers, JOINED.replace("c.time,", "greatest(c.time, r.since) AS time,"))
    (note,) = routers.load().notes
    assert str(note) == (
        "tables/view.sql:1: 'busy' gets no fresher than 'routers', which moves every 7d, though 'cpu' moves every 5m: "
        "rows wait for the slower one. Declare 'reference' = 'true' on 'routers': then its newest content counts, and "
        "nothing waits for it. If waiting is meant, declare a target_lag of 7d or more."
    )
    view(routers, JOINED.replace("c.time,", "greatest(c.time, r.since) AS time,"), "'target_lag' = '7d'")
    assert routers.load().notes == ()
    routers.write("tables/routers.sql", TABLE.replace(" AS", " TBLPROPERTIES ('reference' = 'true') AS"))
    view(routers, JOINED)
    assert routers.load().notes == ()
    routers.write("tables/routers.sql", TABLE)
    routers.write("feeds/routers_feed.yml", timed.replace("7d", "30m"))
    view(routers, JOINED.replace("c.time,", "greatest(c.time, r.since) AS time,"))
    assert routers.load().notes == (), "six times as slow is nothing to speak of"
