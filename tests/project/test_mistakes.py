"""Each mistake a user can make, through the front door: the file, the line, the message and the way out."""

from __future__ import annotations

import pytest

from .folder import CPU_FEED, CPU_TABLE, ProjectFolder

VIEW = "CREATE MATERIALIZED VIEW v\nAS SELECT time, router\nFROM "


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        (f"{VIEW}cpuu;", "tables/v.sql:3: There is no table 'cpuu'. Did you mean 'cpu'?"),
        (
            "CREATE MATERIALIZED VIEW cpus AS SELECT * FROM cpuss;",
            "tables/v.sql:1: There is no table 'cpuss'. Did you mean 'cpu'?",
        ),
        (
            f"{VIEW}cpu_feed;",
            "tables/v.sql:3: The materialized view 'v' reads the feed 'cpu_feed' directly. Make a streaming "
            "table of it first, and read that: CREATE STREAMING TABLE name AS SELECT * FROM STREAM cpu_feed.",
        ),
        (
            f"{VIEW}STREAM cpu;",
            "tables/v.sql:3: The materialized view 'v' reads 'cpu' with STREAM, which is for feeds. Take STREAM out.",
        ),
        (
            "CREATE MATERIALIZED VIEW v AS SELECT 1 AS one;",
            "tables/v.sql:1: The materialized view 'v' reads nothing. Write FROM and a table.",
        ),
        (
            "CREATE STREAMING TABLE s AS SELECT * FROM STREAM cpu_fed;",
            "tables/v.sql:1: There is no feed 'cpu_fed'. Did you mean 'cpu_feed'?",
        ),
        (
            "CREATE STREAMING TABLE s AS SELECT *\nFROM cpu_feed;",
            "tables/v.sql:2: The streaming table 's' reads the feed 'cpu_feed' without STREAM. "
            "Write FROM STREAM cpu_feed.",
        ),
        (
            "CREATE STREAMING TABLE s AS SELECT * FROM STREAM cpu;",
            "tables/v.sql:1: The streaming table 's' reads the streaming table 'cpu', but streaming tables "
            "read feeds. Make 's' a materialized view.",
        ),
        (
            "CREATE STREAMING TABLE s AS SELECT a.* FROM STREAM cpu_feed a\nJOIN STREAM cpu_feed b ON a.time=b.time;",
            "tables/v.sql:2: The streaming table 's' reads more than one feed, or one more than once. "
            "Make a streaming table of each feed, and join them in a materialized view.",
        ),
        (
            "CREATE STREAMING TABLE s AS SELECT router, cpu FROM STREAM cpu_feed;",
            "tables/v.sql:1: The streaming table 's' does not pass on the feed's time column 'time'. "
            "Add time to the SELECT as it is; it may be renamed with AS.",
        ),
        (
            "CREATE STREAMING TABLE s AS SELECT time, explode(array(1, 2)) AS n FROM STREAM cpu_feed;",
            "tables/v.sql:1: The streaming table 's' makes several rows of one with explode, but every row of "
            "a feed must be accounted for. Load the rows as they are, and use explode in a materialized view.",
        ),
        (
            "CREATE STREAMING TABLE s AS SELECT time, explode_outer(array(1)) AS n FROM STREAM cpu_feed;",
            "tables/v.sql:1: The streaming table 's' makes several rows of one with explode_outer, but every row "
            "of a feed must be accounted for. Load the rows as they are, and use explode_outer in a "
            "materialized view.",
        ),
        (
            "CREATE STREAMING TABLE s TBLPROPERTIES ('emit' = 'closed') AS SELECT * FROM STREAM cpu_feed;",
            "tables/v.sql:1: 'emit' is for materialized views, and 's' is a streaming table. Take it out.",
        ),
        (
            "CREATE MATERIALIZED VIEW v AS SELECT time, rand() AS r FROM cpu;",
            "tables/v.sql:1: The materialized view 'v' uses rand(): its result would change without its "
            "sources changing. Use a column instead; a streaming table may use it, once for each row that "
            "arrives.",
        ),
        (
            "CREATE MATERIALIZED VIEW v PARTITIONED BY (ruter) AS SELECT time, router FROM cpu;",
            "tables/v.sql:1: 'v' is partitioned by 'ruter', which is no column of it. Did you mean 'router'?",
        ),
        (
            "CREATE MATERIALIZED VIEW v__rejects AS SELECT * FROM cpu;",
            "tables/v.sql:1: 'v__rejects' cannot be a name: Freshtide keeps rows aside under names that end in "
            "__rejects. Choose another name.",
        ),
        (
            "CREATE MATERIALIZED VIEW Cpu AS SELECT * FROM cpu;",
            "tables/v.sql:1: The materialized view 'Cpu' has the name of the streaming table 'cpu' in "
            "tables/cpu.sql:1, and names do not tell upper from lower case. Rename one of them.",
        ),
        (
            "CREATE MATERIALIZED VIEW cpu_feed AS SELECT * FROM cpu;",
            "tables/v.sql:1: The materialized view 'cpu_feed' has the name of the feed 'cpu_feed' in "
            "feeds/cpu_feed.yml:1. Rename one of them.",
        ),
    ],
)
def test_a_mistake_in_sql_is_told_with_its_place_and_the_way_out(cpu: ProjectFolder, sql: str, problem: str) -> None:
    cpu.write("tables/v.sql", sql)
    assert cpu.problem() == problem


def test_a_streaming_table_that_aggregates_is_refused(cpu: ProjectFolder) -> None:
    cpu.write(
        "tables/v.sql", "CREATE STREAMING TABLE s AS SELECT time, count(*) AS n FROM STREAM cpu_feed GROUP BY time;"
    )
    assert cpu.problem().startswith("tables/v.sql:1: The streaming table 's' does not work row by row. ")


def test_appending_without_a_time_column_is_refused(cpu: ProjectFolder) -> None:
    cpu.write(
        "tables/v.sql",
        "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('maintain' = 'append') AS SELECT router FROM cpu;",
    )
    problem = cpu.problem()
    assert problem.startswith("tables/v.sql:1: ")
    assert "append" in problem


def test_a_circle_is_told_once_and_whole(cpu: ProjectFolder) -> None:
    cpu.write("tables/a.sql", "\nCREATE MATERIALIZED VIEW a AS SELECT * FROM c;")
    cpu.write("tables/b.sql", "CREATE MATERIALIZED VIEW b AS SELECT * FROM a;")
    cpu.write("tables/c.sql", "CREATE MATERIALIZED VIEW c AS SELECT * FROM b;")
    cpu.write("tables/d.sql", "CREATE MATERIALIZED VIEW d AS SELECT * FROM c;")
    problem = cpu.problem()
    assert problem.startswith("tables/a.sql:2: These tables depend on each other in a circle: a -> ")
    assert problem.endswith("-> a. Take one of them out of the others' queries.")
    assert " b " in problem
    assert " c " in problem


def test_a_view_on_itself_is_a_circle(cpu: ProjectFolder) -> None:
    cpu.write("tables/a.sql", "CREATE MATERIALIZED VIEW a AS SELECT * FROM a;")
    assert cpu.problem().startswith("tables/a.sql:1: These tables depend on each other in a circle: a -> a.")


def test_two_circles_are_two_problems(cpu: ProjectFolder) -> None:
    cpu.write("tables/a.sql", "CREATE MATERIALIZED VIEW a AS SELECT * FROM a;")
    cpu.write("tables/b.sql", "CREATE MATERIALIZED VIEW b AS SELECT * FROM b;")
    assert len(cpu.problems()) == 2


def test_two_feeds_of_one_name_are_told_with_both_places(cpu: ProjectFolder) -> None:
    cpu.write("feeds/more.yml", "name: cpu_feed\n" + CPU_FEED)
    assert cpu.problem() == (
        "feeds/more.yml:1: The feed 'cpu_feed' has the name of the feed 'cpu_feed' in feeds/cpu_feed.yml:1. "
        "Rename one of them."
    )


def test_what_reads_something_wrong_is_not_blamed_for_it(cpu: ProjectFolder) -> None:
    cpu.write("feeds/cpu_feed.yml", CPU_FEED + "lateness: soon\n")
    cpu.write("tables/busy.sql", "CREATE MATERIALIZED VIEW busy AS SELECT * FROM cpu;")
    assert cpu.problem().startswith("feeds/cpu_feed.yml:9: 'soon' is not a duration.")


def test_what_reads_a_broken_file_is_not_blamed_for_it(cpu: ProjectFolder) -> None:
    cpu.write("tables/cpu.sql", CPU_TABLE + "\nCREATE MATERIALIZED VIEW x AS SELECT 'open FROM cpu;\n")
    cpu.write("tables/busy.sql", "CREATE MATERIALIZED VIEW busy AS SELECT * FROM cpu;")
    assert cpu.problem().startswith("tables/cpu.sql:3: A quote or comment that begins here does not end.")


def test_broken_yaml_is_told_with_its_line(cpu: ProjectFolder) -> None:
    cpu.write("feeds/cpu_feed.yml", "path: a\nformat: [csv\nschema: {}\n")
    assert cpu.problem().startswith("feeds/cpu_feed.yml:3: The YAML is broken")


def test_a_list_of_feeds_is_alone_in_its_file(cpu: ProjectFolder) -> None:
    cpu.write("feeds/more.yml", "path: x\nfeeds: []\n")
    assert cpu.problem() == (
        "feeds/more.yml:2: 'feeds' must be a list of feeds, and the only key of its file. "
        "Write each feed as an item that begins with `- name: ...`."
    )


def test_a_feed_in_a_list_needs_a_name(cpu: ProjectFolder) -> None:
    indented = "".join(f"    {line}\n" for line in CPU_FEED.splitlines()).replace("    path", "  - path", 1)
    cpu.write("feeds/more.yml", f"feeds:\n{indented}")
    assert cpu.problem() == "feeds/more.yml:2: 'name' is missing. Give the feed a name."


def test_a_file_that_is_no_text_is_told(cpu: ProjectFolder) -> None:
    (cpu.root / "tables/latin.sql").write_bytes(b"-- \xe9\n")
    assert cpu.problem().startswith("tables/latin.sql:1: The file cannot be read")


def test_all_problems_are_told_at_once_in_the_order_of_files_and_lines(cpu: ProjectFolder) -> None:
    cpu.write("freshtide.yml", "name: network\ntracks: 0\nspeed: 3\n")
    cpu.write("feeds/other.yml", CPU_FEED.replace("cpu: double", "cpu: dubble"))
    cpu.write(
        "tables/v.sql",
        """\
CREATE MATERIALIZED VIEW a AS SELECT * FROM nowhere;
CREATE VIEW b AS SELECT 1;
CREATE MATERIALIZED VIEW c TBLPROPERTIES ('lag' = '5m') AS SELECT * FROM cpu;
""",
    )
    cpu.write("tables/w.py", "raise ValueError('no')\n")
    assert [str(problem.origin) for problem in cpu.problems()] == [
        "feeds/other.yml:6",
        "freshtide.yml:2",
        "freshtide.yml:3",
        "tables/v.sql:1",
        "tables/v.sql:2",
        "tables/v.sql:3",
        "tables/w.py:1",
    ]
