"""What is wrong is told with the way out: in a project, around it, and on the machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.spark import SparkSession
from tests.commands import answer, freshtide, leaving_spark_to_others, starter_with


@pytest.fixture
def shared_spark(spark: SparkSession) -> Iterator[SparkSession]:
    with leaving_spark_to_others():
        yield spark


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        (
            "tables/typo.sql",
            "CREATE MATERIALIZED VIEW v AS\nSELECT * FROM ordres",
            ["tables/typo.sql:2", "ordres", "Did you mean 'orders'?"],
        ),
        (
            "tables/lag.sql",
            "CREATE MATERIALIZED VIEW v\nTBLPROPERTIES ('target_lag'='soon')\nAS SELECT * FROM orders",
            ["tables/lag.sql:2", "'soon' is not a duration"],
        ),
        (
            "tables/append.sql",
            "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('maintain'='append') AS SELECT customer FROM orders",
            ["tables/append.sql:1", "time column"],
        ),
        ("tables/syntax.sql", "CREATE MATERIALIZED VIEW v AS\nSELECT FROM WHERE", ["tables/syntax.sql:2"]),
        ("freshtide.yml", "name: shop\n\ttracks: 2\n", ["freshtide.yml:2", "YAML takes no tabs"]),
        ("freshtide.yml", "name: shop\ntraks: 3\n", ["freshtide.yml:2", "traks", "tracks"]),
        ("freshtide.yml", "name: shop\ncatalog: nonsense\n", ["freshtide.yml:2", "postgresql+psycopg://"]),
        ("freshtide.yml", "catalog: mysql://db/shop\n", ["freshtide.yml:1", "SQLite or PostgreSQL"]),
        (
            "freshtide.yml",
            "name: shop\nscheduler:\n  ordering: max_benefit\n",
            ["freshtide.yml:3", "'max_benefit' is not an ordering", "Did you mean 'max-benefit'?", "edf-p, fifo"],
        ),
        ("tables/raises.py", "x = 1\nraise ValueError('no luck')\n", ["tables/raises.py:2", "no luck"]),
    ],
)
def test_a_wrong_project_gets_file_line_and_way_out_and_exit_code_2(
    tmp_path: Path, file: str, text: str, told: list[str]
) -> None:
    folder = starter_with(tmp_path / "shop", file, text)
    done = freshtide("run", "--once", at=folder)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for words in told:
        assert words in done.stderr
    assert not (folder / "warehouse").exists(), "nothing runs on an invalid project"


@pytest.mark.parametrize(
    ("catalog", "told"),
    [
        ("postgresql+psycopg://me:secret@localhost:9/shop", "localhost:9/shop does not answer"),
        ("postgresql+pg8000://me:secret@localhost:9/shop", "pip install 'freshtide[postgresql]'"),
        ("sqlite:////proc/freshtide/catalog.db", "/proc/freshtide"),
    ],
)
@pytest.mark.parametrize("words", [["status"], ["run", "--once"], ["doctor"]])
def test_a_catalog_that_is_away_is_told_before_spark_is_started_and_without_its_password(
    tmp_path: Path, catalog: str, told: str, words: list[str]
) -> None:
    folder = starter_with(tmp_path / "shop", "freshtide.yml", f"catalog: {catalog}\n")
    done = freshtide(*words, at=folder)
    assert done.returncode == 1
    assert told in done.stdout + done.stderr
    assert "secret" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / ".freshtide" / "spark.log").exists()


def test_a_catalog_in_a_file_is_looked_for_from_the_project_wherever_the_command_is_typed(tmp_path: Path) -> None:
    folder = starter_with(tmp_path / "shop", "freshtide.yml", "catalog: sqlite:///state/catalog.db\n")
    answer("status", "-p", str(folder), at=tmp_path)
    answer("status", at=folder / "tables")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.db")] == ["shop/state/catalog.db"]


@pytest.mark.usefixtures("shared_spark")
def test_validate_finds_columns_that_spark_cannot_resolve(tmp_path: Path) -> None:
    text = "CREATE MATERIALIZED VIEW v AS\nSELECT ordered_at,\n  amuont\nFROM orders"
    folder = starter_with(tmp_path / "shop", "tables/typo.sql", text)
    done = freshtide("validate", at=folder)
    assert done.returncode == 2
    assert "tables/typo.sql:3" in done.stderr
    assert "`amount`" in done.stderr


@pytest.mark.usefixtures("shared_spark")
def test_syntax_that_only_spark_rejects_is_found_in_its_line(tmp_path: Path) -> None:
    text = "CREATE MATERIALIZED VIEW v AS\nSELECT ordered_at,\n  customer,,amount\nFROM orders"
    folder = starter_with(tmp_path / "shop", "tables/typo.sql", text)
    done = freshtide("validate", at=folder)
    assert done.returncode == 2
    assert "tables/typo.sql:3: In 'v': Syntax error at or near ','." in done.stderr


@pytest.mark.usefixtures("shared_spark")
def test_a_feed_whose_folder_is_not_there_is_told_until_it_is(tmp_path: Path) -> None:
    folder = starter_with(tmp_path / "shop", "README.md", "")
    landing = folder / "landing" / "orders"
    landing.rename(folder / "elsewhere")
    done = freshtide("run", "--once", at=folder)
    assert done.returncode == 0, done.stderr
    assert "1 feed in trouble" in done.stdout
    (feed,) = answer("feeds", at=folder)
    assert feed["faults"] == [f"Feed 'orders_feed': the folder {landing} does not exist. Is `path` right?"]
    assert str(landing) in freshtide("feeds", at=folder).stdout
    (folder / "elsewhere").rename(landing)
    assert answer("run", "--once", at=folder)["feeds"][0]["faults"] == []


def test_a_folder_that_is_no_project_is_told_so(tmp_path: Path) -> None:
    done = freshtide("status", at=tmp_path)
    assert done.returncode == 2
    assert "freshtide init" in done.stderr


def test_without_java_a_run_says_what_to_install(tmp_path: Path) -> None:
    shop = starter_with(tmp_path / "shop", "README.md", "")
    done = freshtide("run", "--once", at=shop, PATH=str(tmp_path), JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "Install Java 17" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_says_what_is_missing_and_what_to_do(tmp_path: Path) -> None:
    shop = starter_with(tmp_path / "shop", "README.md", "")
    fine = {finding["check"]: finding for finding in answer("doctor", at=shop)}
    assert fine["Java"]["ok"]
    assert fine["Scheduler"]["found"].startswith("interpreted")
    done = freshtide("doctor", "--json", at=shop, PATH=str(tmp_path), JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    missing = {finding["check"]: finding for finding in json.loads(done.stdout)}
    assert not missing["Java"]["ok"]
    assert "Install Java" in missing["Java"]["way_out"]


def test_doctor_outside_of_a_project_tells_the_way_out_once(tmp_path: Path) -> None:
    done = freshtide("doctor", at=tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("freshtide init") == 1
