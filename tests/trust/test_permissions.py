"""Queries and expressions reach for the tables that they are given, and for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshtide.core.errors import FreshtideError, ProjectError
from freshtide.flows import Flow
from freshtide.spark import SparkSession
from freshtide.spark.flows import run_flow
from freshtide.spark.permissions import REFUSED
from freshtide.storage import Store
from tests.warehouse.shop import Shop

CANARY = "canary-4711"
FUNCTIONS = Path(__file__).with_name("spark_functions.txt")
REACHING = {
    "a file by a name that is computed": "(SELECT max(value) FROM IDENTIFIER('text.`{secret}`'))",
    "a file in a path table": "(SELECT max(value) FROM text.`{secret}`)",
    "a file of bytes": "(SELECT max(string(content)) FROM binaryFile.`{secret}`)",
    "a method of Java": "reflect('java.lang.System', 'getProperty', 'java.home')",
    "a method by another name": "java_method('java.lang.System', 'getProperty', 'java.home')",
    "a method that may fail": "try_reflect('java.lang.System', 'getProperty', 'java.home')",
    "a schema in a file": "string(from_xml('<p/>', 'a INT', map('rowValidationXSDPath', '{secret}')))",
    "a file that XML names": ("xpath_string('<!DOCTYPE a [<!ENTITY e SYSTEM \"file://{secret}\">]><a>&e;</a>', 'a')"),
    "a list of what XML names": "array_max(xpath('<!DOCTYPE a SYSTEM \"file://{secret}\"><a>1</a>', 'a/text()'))",
    "the user": "current_user()",
    "the state of the session": "current_database()",
}
A_COMPUTED_NAME = "IDENTIFIER('java_' || 'method')('java.lang.System', 'getenv', 'HOME')"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret.txt"
    file.write_text(CANARY)
    return file


@pytest.fixture
def loaded(shop: Shop) -> Shop:
    shop.events("events")
    shop.drop_events("events", "a.csv", [(1, "a", 1)])
    shop.load()
    return shop


def refused(told: str) -> bool:
    """By us, or by Spark that finds no such table; never for want of a comma."""
    return any(words in told for words in ("no query may", "The table or view `", "names a database"))


def test_a_question_reaches_for_nothing_else(loaded: Shop, secret: Path) -> None:
    for what, expression in REACHING.items():
        with pytest.raises(FreshtideError) as caught:
            loaded.warehouse.query(f"SELECT ts, {expression.format(secret=secret)} AS leaked FROM events").collect()
        assert refused(str(caught.value)), (what, caught.value)
        assert CANARY not in str(caught.value)


def test_a_view_reaches_for_nothing_else(shop: Shop, secret: Path) -> None:
    shop.events("events")
    leaky = [expression.format(secret=secret) for expression in REACHING.values() if "`{secret}`)" not in expression]
    for number, expression in enumerate(leaky):
        shop.view(f"leaky_{number}", f"SELECT ts, {expression} AS leaked FROM events")
    with pytest.raises(ProjectError) as caught:
        shop.warehouse.run_once()
    told = [problem.message for problem in caught.value.problems]
    assert len(told) == len(leaky)
    assert all(map(refused, told)), told


def test_the_query_of_a_base_table_reaches_for_nothing_else(shop: Shop) -> None:
    shop.events("events")
    shop.warehouse.sql(
        "CREATE STREAMING TABLE leaky AS SELECT ts, reflect('java.lang.System', 'getenv', 'HOME') AS v "
        "FROM STREAM events_feed"
    )
    with pytest.raises(ProjectError, match="In 'leaky': The query calls a method of the Java virtual machine"):
        shop.warehouse.run_once()


def test_only_the_query_of_a_base_table_knows_files(loaded: Shop) -> None:
    with pytest.raises(FreshtideError, match="asks for the file of a row"):
        loaded.warehouse.query("SELECT input_file_name() AS f FROM events")


def test_nothing_is_put_into_the_text_of_a_query(loaded: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", CANARY)
    text = "${env:PATH} ${system:java.home} ${spark.app.name}"
    ((found,),) = loaded.warehouse.query(f"SELECT '{text}' AS v FROM events").collect()
    assert found == text


def test_views_that_others_have_made_are_not_to_be_had(loaded: Shop, spark: SparkSession) -> None:
    session = loaded.warehouse.workbench.states().session
    session.createDataFrame([(CANARY,)], "v string").createOrReplaceTempView("__source_7")
    spark.createDataFrame([(CANARY,)], "v string").createOrReplaceGlobalTempView("shared")
    for name in ("__source_7", "global_temp.shared"):
        with pytest.raises(FreshtideError, match="which is not declared"):
            loaded.warehouse.query(f"SELECT ts, (SELECT max(v) FROM IDENTIFIER('{name}')) AS v FROM events")


def test_a_variable_of_the_session_is_not_to_be_had(loaded: Shop) -> None:
    session = loaded.warehouse.workbench.states().session
    session.sql(f"DECLARE OR REPLACE VARIABLE hidden STRING DEFAULT '{CANARY}'")
    with pytest.raises(FreshtideError, match="the state of its session"):
        loaded.warehouse.query("SELECT hidden FROM events")


@pytest.mark.parametrize(
    "text", ["SET spark.x = 1", "EXECUTE IMMEDIATE 'SELECT 1'", "BEGIN SELECT 1; END", "DROP TABLE events", "LIST JARS"]
)
def test_a_statement_is_not_a_question(loaded: Shop, text: str) -> None:
    with pytest.raises(FreshtideError):
        loaded.warehouse.query(text)
    assert loaded.rows("events")


@pytest.mark.parametrize(
    "expression", [REACHING["a method of Java"], REACHING["a file in a path table"], A_COMPUTED_NAME]
)
def test_an_expression_of_a_flow_reaches_for_nothing_else(
    spark: SparkSession, tmp_path: Path, secret: Path, expression: str
) -> None:
    (tmp_path / "in.json").write_text('{"a": 1}\n')
    flow = Flow("leaky")
    rows = flow.read(files="in.json", format="json", schema={"a": "int"})
    rows.expression({"leaked": expression.format(secret=secret)}).write(table="out")
    with pytest.raises(FreshtideError) as caught:
        run_flow(flow.graph(), spark, store=Store(tmp_path / "tables"), root=tmp_path, scratch=tmp_path / "scratch")
    assert refused(str(caught.value)), caught.value


def test_what_is_ordinary_is_permitted(loaded: Shop) -> None:
    for text in (
        "WITH c AS (SELECT k, count(*) AS n FROM events GROUP BY k) SELECT c.k, d.n FROM c JOIN c AS d ON c.k = d.k",
        "SELECT k, sum(v) OVER (PARTITION BY k ORDER BY ts) AS s FROM events QUALIFY s > 0 ORDER BY s LIMIT 5",
        "SELECT * FROM events WHERE v IN (SELECT max(v) FROM events) AND EXISTS (SELECT 1 FROM events AS o)",
        "SELECT k FROM events UNION ALL SELECT 'x' EXCEPT SELECT 'y' INTERSECT SELECT 'z'",
        "SELECT * FROM events PIVOT (sum(v) FOR k IN ('a', 'b'))",
        "SELECT e.k, x.col FROM events AS e, LATERAL explode(array(e.v, 2)) AS x",
        "SELECT k, grouping(k), sum(v) FROM events GROUP BY CUBE(k) HAVING sum(v) > 0",
        "SELECT window(ts, '1 hour') AS w, count(*) AS n FROM events GROUP BY 1",
        "FROM events |> WHERE v > 0 |> AGGREGATE count(*) AS n GROUP BY k",
        "SELECT e.k, r.id FROM events AS e JOIN range(3) AS r ON e.v = r.id",
        "SELECT from_json('{\"x\": 1}', 'x INT').x, transform(array(v), y -> y + 1) FROM events",
    ):
        loaded.warehouse.query(text).collect()


def test_every_function_that_spark_has_is_known_to_be_permitted_or_refused(spark: SparkSession) -> None:
    permitted = set(FUNCTIONS.read_text().split())
    for (name,) in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        is_refused = (class_ := class_of(spark, name)) is not None and class_ in REFUSED
        assert is_refused != (name in permitted), f"Is {name} ({class_}) to be permitted? Decide, and write it down."


def class_of(spark: SparkSession, function: str) -> str | None:
    """What carries a function out; what only the parser knows has none. DESCRIBE says it as well, as a query each."""
    catalog = spark._jsparkSession.sessionState().catalog()
    for look_up in (catalog.lookupBuiltinOrTempFunction, catalog.lookupBuiltinOrTempTableFunction):
        if (found := look_up(function)).isDefined() and (name := found.get().getClassName()):
            return str(name).rpartition(".")[2]
    return None
