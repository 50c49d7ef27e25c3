"""Update groups: what may be declared together, and what may not."""

from __future__ import annotations

import pytest

from .folder import CPU_FEED, CPU_TABLE, ProjectFolder

OTHERS = """\
CREATE STREAMING TABLE mem AS SELECT time, router FROM STREAM mem_feed;
CREATE MATERIALIZED VIEW first TBLPROPERTIES ('update_group' = 'Views') AS SELECT time, router FROM cpu;
CREATE MATERIALIZED VIEW hours TBLPROPERTIES ('update_group' = 'closed', 'emit' = 'closed')
AS SELECT date_trunc('hour', time) AS hour, count(*) AS n FROM cpu GROUP BY 1;
CREATE STREAMING TABLE raw TBLPROPERTIES ('update_group' = 'rows') AS SELECT time, cpu FROM STREAM cpu_feed;
"""


@pytest.fixture
def folder(cpu: ProjectFolder) -> ProjectFolder:
    cpu.write("feeds/mem_feed.yml", CPU_FEED)
    cpu.write("tables/others.sql", OTHERS)
    return cpu


def test_views_of_the_same_sources_and_tables_of_the_same_feed_can_be_in_a_group(folder: ProjectFolder) -> None:
    folder.write(
        "tables/v.sql",
        """\
CREATE MATERIALIZED VIEW second TBLPROPERTIES ('update_group' = 'views') AS SELECT router, max(cpu) AS cpu FROM cpu
GROUP BY router;
CREATE STREAMING TABLE more TBLPROPERTIES ('update_group' = 'rows') AS SELECT time FROM STREAM cpu_feed;
CREATE MATERIALIZED VIEW more_hours TBLPROPERTIES ('update_group' = 'closed', 'emit' = 'closed')
AS SELECT date_trunc('hour', time) AS hour, max(cpu) AS cpu FROM cpu GROUP BY 1;
""",
    )
    folder.write(
        "tables/w.py",
        """\
from freshtide import materialized_view, table


@materialized_view(update_group="views")
def third(cpu):
    return cpu


@table(feed="cpu_feed", update_group="rows")
def even_more(rows):
    return rows
""",
    )
    units = folder.load().graph.units
    assert set(units["views"]) == {"first", "second", "third"}
    assert set(units["rows"]) == {"raw", "more", "even_more"}
    assert set(units["closed"]) == {"hours", "more_hours"}
    assert units["cpu"] == ("cpu",)


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        (
            "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('update_group' = 'views') AS SELECT time FROM mem;",
            "tables/v.sql:2: 'v' cannot be in the update group 'views' with 'first': it reads 'mem', and that 'cpu'. "
            "Take one of them out of the group.",
        ),
        (
            "CREATE STREAMING TABLE v TBLPROPERTIES ('update_group' = 'rows') AS SELECT time FROM STREAM mem_feed;",
            "tables/v.sql:2: 'v' cannot be in the update group 'rows' with 'raw': only tables of the same feed, or "
            "views of the same sources, read the same rows. Take one of them out of the group.",
        ),
        (
            "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('update_group' = 'rows') AS SELECT time FROM cpu;",
            "tables/v.sql:2: 'v' cannot be in the update group 'rows' with 'raw': only tables of the same feed, or "
            "views of the same sources, read the same rows. Take one of them out of the group.",
        ),
        (
            "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('update_group' = 'closed', 'emit' = 'closed') AS "
            "SELECT date_trunc('day', time) AS day, count(*) AS n FROM cpu GROUP BY 1;",
            "tables/v.sql:2: 'v' cannot be in the update group 'closed' with 'hours': their buckets do not close at "
            "the same moments (emit, grain and lookback must be the same). Take one of them out of the group.",
        ),
        (
            "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('update_group' = 'closed') AS "
            "SELECT date_trunc('hour', time) AS hour, count(*) AS n FROM cpu GROUP BY 1;",
            "tables/v.sql:2: 'v' cannot be in the update group 'closed' with 'hours': their buckets do not close at "
            "the same moments (emit, grain and lookback must be the same). Take one of them out of the group.",
        ),
        (
            "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('update_group' = 'CPU') AS SELECT time FROM cpu;",
            "tables/v.sql:2: The update group 'cpu' has the name of the table 'cpu'. Rename one of them.",
        ),
        (
            "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('update_group' = 'mem_feed') AS SELECT time FROM cpu;",
            "tables/v.sql:2: The update group 'mem_feed' has the name of the feed 'mem_feed'. Rename one of them.",
        ),
        (
            "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('update_group' = 'my group') AS SELECT time FROM cpu;",
            "tables/v.sql:2: 'my group' cannot be a name. Names are letters, digits and underscores, and begin with a "
            "letter.",
        ),
    ],
)
def test_what_cannot_be_updated_together_is_told_with_its_place(folder: ProjectFolder, sql: str, problem: str) -> None:
    folder.write("tables/v.sql", f"-- a view\n{sql}\n")
    assert folder.problem() == problem


def test_a_group_of_one_says_nothing(cpu: ProjectFolder) -> None:
    cpu.write("tables/cpu.sql", CPU_TABLE.replace(" AS ", " TBLPROPERTIES ('update_group' = 'alone') AS ", 1))
    project = cpu.load()
    assert project.notes == ()
    assert dict(project.graph.units) == {"alone": ("cpu",)}
