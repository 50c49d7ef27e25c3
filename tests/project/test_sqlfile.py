from __future__ import annotations

import pytest

from freshtide.core.grains import Grain
from freshtide.core.tables import Emit, Maintenance
from freshtide.project.declarations import Declarations, DeclaredTable
from freshtide.project.tables.properties import Properties
from freshtide.project.tables.sqlfile import declare_sql
from freshtide.sql import TableKind
from freshtide.sql.text import ParsedQuery

STATEMENTS = (
    "Statements are CREATE STREAMING TABLE name AS SELECT ... FROM STREAM feed and "
    "CREATE MATERIALIZED VIEW name AS SELECT ..."
)
A_DURATION = "Write it like 90s, 5m, 1h30m or '15 minutes'."
A_PRIORITY = (
    "A priority is a number from 0.000001 to 1,000,000; with 0.01 a table counts for a hundredth of one with 1."
)


def declared(text: str) -> list[DeclaredTable]:
    declarations = Declarations()
    declare_sql(text, "tables/a.sql", declarations)
    assert declarations.problems == []
    return list(declarations.tables.values())


def problems(text: str) -> list[str]:
    declarations = Declarations()
    declare_sql(text, "tables/a.sql", declarations)
    return [str(problem) for problem in declarations.problems]


def query_of(table: DeclaredTable) -> ParsedQuery:
    assert isinstance(table.query, ParsedQuery)
    return table.query


def test_a_file_declares_one_table_per_statement() -> None:
    found = declared(
        """
        -- raw rows; as they come
        CREATE STREAMING TABLE cpu AS SELECT * FROM STREAM cpu_feed;
        /* and; what follows */
        create or refresh materialized view `busy` as with b as (select * from cpu) select * from b;
        """
    )
    assert [(table.name, table.kind) for table in found] == [
        ("cpu", TableKind.STREAMING_TABLE),
        ("busy", TableKind.MATERIALIZED_VIEW),
    ]


def test_the_select_stays_as_it_was_written_and_knows_its_line() -> None:
    select = "SELECT  a,\n  'x;y' -- why; not\n  FROM cpu /* here; */ WHERE b > 1"
    (table,) = declared(f"\n\nCREATE MATERIALIZED VIEW v\nAS\n{select}\n;\n")
    assert query_of(table).text == select
    assert query_of(table).first_line == 5
    assert str(table.origin) == "tables/a.sql:3"


def test_clauses_come_in_any_order() -> None:
    clauses = ["PARTITIONED BY (a, `b`)", "COMMENT 'it''s'", "TBLPROPERTIES ('priority' = '2')"]
    expected = Properties(priority=2.0, partition_by=("a", "b"), comment="it's")
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        text = " ".join(clauses[index] for index in order)
        (table,) = declared(f"CREATE MATERIALIZED VIEW IF NOT EXISTS v {text} AS SELECT a, b FROM cpu")
        assert table.properties == expected


def test_every_property_is_understood() -> None:
    (table,) = declared(
        """CREATE MATERIALIZED VIEW v TBLPROPERTIES (
            'priority' = '0.5', target_lag = '5m', "maintain" = 'partitions', 'lookback' '1h',
            'emit' = 'closed', 'time_column' = 'hour', 'grain' = 'hour', 'period' = 60, 'partition_by' = 'a, b'
        ) AS SELECT * FROM cpu"""
    )
    assert table.properties == Properties(
        priority=0.5,
        target_lag=300.0,
        maintain=Maintenance.PARTITIONS,
        lookback=3600.0,
        emit=Emit.CLOSED,
        time_column="hour",
        grain=Grain.of_seconds(3600),
        period=60.0,
        partition_by=("a", "b"),
    )


@pytest.mark.parametrize(
    ("written", "grain"),
    [("15m", Grain.of_seconds(900)), ("month", Grain(unit="month")), ("Day", Grain.of_seconds(86_400))],
)
def test_grains_are_durations_or_units(written: str, grain: Grain) -> None:
    (table,) = declared(f"CREATE MATERIALIZED VIEW v TBLPROPERTIES ('grain' = '{written}') AS SELECT * FROM c")
    assert table.properties.grain == grain


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "'priorty' = '2'",
            "There is no setting 'priorty'. Did you mean 'priority'? Known: comment, emit, flow, grain, "
            "key_order, lookback, maintain, partition_by, period, priority, reference, slide, target_lag, time_column, "
            "update_group, update_key, window, windows.",
        ),
        ("'priority' = 'high'", f"'high' is not a priority. {A_PRIORITY}"),
        ("'priority' = '0'", f"'0' is not a priority. {A_PRIORITY}"),
        ("'priority' = '-2.5'", f"'-2.5' is not a priority. {A_PRIORITY}"),
        ("'priority' = 'nan'", f"'nan' is not a priority. {A_PRIORITY}"),
        ("'priority' = '1e308'", f"'1e308' is not a priority. {A_PRIORITY}"),
        ("'priority' = '1e-7'", f"'1e-7' is not a priority. {A_PRIORITY}"),
        ("'target_lag' = '0s'", f"'target_lag' must be longer than 0s, not '0s'. {A_DURATION}"),
        ("'period' = '0'", f"'period' must be longer than 0s, not '0'. {A_DURATION}"),
        ("'priority' = 'inf'", f"'inf' is not a priority. {A_PRIORITY}"),
        (
            "'target_lag' = 'soon'",
            "'soon' is not a duration. Write it like 90s, 5m, 1h30m or '15 minutes'.",
        ),
        (
            "'maintain' = 'apend'",
            "'apend' is not a way to maintain a table. Did you mean 'append'? Known: append, full, incremental, "
            "latest, partitions.",
        ),
        ("'emit' = 'close'", "'close' is not a way to emit buckets. Did you mean 'closed'? Known: all, closed."),
        (
            "'grain' = 'fortnight'",
            "'fortnight' is not a grain. "
            "Write a duration like 15m, or minute, hour, day, week, month, quarter or year.",
        ),
        (
            "'partition_by' = 'a,,b'",
            "'partition_by' holds an empty name. Write names with commas between them, like 'region, day'.",
        ),
        ("'partition_by' = 'a,A'", "'partition_by' names a column twice. Name each column once."),
        ("'priority' =", "The property 'priority' has no value. Write 'priority' = '...'."),
        ("'period' = '1m', 'period' = '2m'", "'period' is given twice, first in line 3. Keep one of them."),
    ],
)
def test_a_wrong_property_is_told_with_its_line(line: str, problem: str) -> None:
    text = f"CREATE MATERIALIZED VIEW v\nTBLPROPERTIES (\n{line}\n)\nAS SELECT * FROM cpu;"
    (found,) = problems(text)
    place, _, told = found.partition(": ")
    assert place in ("tables/a.sql:3", "tables/a.sql:4")
    assert told == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "CREATE VIEW v AS SELECT 1",
            "'CREATE VIEW' is not a statement for tables. Write CREATE MATERIALIZED VIEW.",
        ),
        (
            "INSERT INTO v SELECT * FROM cpu",
            "'INSERT' is not a statement for tables. Tables are filled by the query that they are created "
            "with: put it into their CREATE statement.",
        ),
        (
            "SELECT * FROM cpu",
            "'SELECT' is not a statement for tables. Put `CREATE MATERIALIZED VIEW name AS` before the SELECT.",
        ),
        ("DROP TABLE cpu", f"'DROP' is not a statement for tables. {STATEMENTS}"),
        ("SHOW TABLES", f"'SHOW' is not a statement for tables. {STATEMENTS}"),
        ("CREATE TABLE t AS SELECT 1", f"'CREATE TABLE' is not a statement for tables. {STATEMENTS}"),
        (
            "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT * FROM cpu",
            "OR REPLACE is not needed: a view whose query has changed is rebuilt by itself. Take OR REPLACE out.",
        ),
        (
            "CREATE STREAMING TABLE t (a int) AS SELECT * FROM STREAM f",
            "'t' has a list of columns, but names and types come from the SELECT. "
            "Take the list out, and write `CAST(x AS type) AS name` in the SELECT where you need it.",
        ),
        ("CREATE STREAMING TABLE t", "The streaming table 't' has no query. End it with AS SELECT ..."),
        ("CREATE STREAMING TABLE t AS", "The streaming table 't' has no SELECT after AS."),
        ("CREATE STREAMING TABLE AS SELECT 1", None),
        (
            "CREATE MATERIALIZED VIEW db.v AS SELECT * FROM cpu",
            "'db.' is no part of a table's name: all tables of a project are in one place. Write the name alone.",
        ),
        (
            "CREATE STREAMING TABLE t USING delta AS SELECT * FROM STREAM f",
            "All tables are Delta Lake tables. Take the USING clause out.",
        ),
        (
            "CREATE STREAMING TABLE t CLUSTER BY (a) AS SELECT * FROM STREAM f",
            "'CLUSTER BY' is not understood here. "
            "Before AS there can be PARTITIONED BY (...), COMMENT '...' and TBLPROPERTIES (...).",
        ),
        (
            "CREATE STREAMING TABLE t PARTITIONED BY (day(a)) AS SELECT * FROM STREAM f",
            "PARTITIONED BY lists plain columns: name a computed one in the SELECT first.",
        ),
        (
            "CREATE MATERIALIZED VIEW v AS INSERT INTO x SELECT 1",
            "The text that starts in line 3 is not a query. Write a SELECT, with or without WITH and UNION.",
        ),
    ],
)
def test_a_statement_that_is_not_understood_is_told_with_its_line(text: str, problem: str | None) -> None:
    (found,) = problems(f"-- a comment\n\n{text};\n")
    assert found.startswith("tables/a.sql:3: ")
    assert problem is None or found == f"tables/a.sql:3: {problem}"


def test_sql_that_does_not_parse_is_told_with_the_line_of_the_file() -> None:
    (problem,) = problems("CREATE MATERIALIZED VIEW v AS\nSELECT a,\n  sum(b\nFROM cpu;\n")
    assert problem.startswith("tables/a.sql:4: The query does not parse")


def test_a_quote_that_never_ends_is_told_where_it_begins() -> None:
    (problem,) = problems("CREATE MATERIALIZED VIEW v AS\nSELECT 'a FROM cpu;\n")
    assert problem == "tables/a.sql:2: A quote or comment that begins here does not end. Close it."


def test_each_statement_is_checked_by_itself() -> None:
    text = """CREATE VIEW a AS SELECT 1;
CREATE MATERIALIZED VIEW b TBLPROPERTIES ('lag' = '1') AS SELECT (1;
CREATE MATERIALIZED VIEW c AS SELECT * FROM cpu;
"""
    declarations = Declarations()
    declare_sql(text, "tables/a.sql", declarations)
    assert [problem.origin.line for problem in declarations.problems if problem.origin] == [1, 2, 2]
    assert list(declarations.tables) == ["c"]
    assert declarations.spoiled == {"a", "b"}
