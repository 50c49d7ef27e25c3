"""What Freshtide cannot do is refused by `validate`, by name, and not taken for something else on the quiet."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from freshtide import Warehouse
from freshtide.core.errors import FreshtideError
from freshtide.flows.options import FORMAT_OPTIONS
from freshtide.project import create_starter
from freshtide.spark import SparkSession, start_session
from tests.project.folder import CPU_FEED, CPU_TABLE, ProjectFolder

FLOW = """
activities:
  rows: {{read: {{files: "{source}", format: csv, schema: {{a: int}}, options: {{{option}: "true"}}}}}}
  kept: {{write: {{files: "{target}"}}, from: rows}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> ProjectFolder:
    made = ProjectFolder(tmp_path)
    made.write("freshtide.yml", "")
    made.write("feeds/cpu_feed.yml", CPU_FEED)
    made.write("tables/cpu.sql", CPU_TABLE)
    return made


@pytest.mark.parametrize("scheme", ["s3", "s3a", "gs", "abfss", "hdfs", "http", "dbfs"])
def test_tables_feeds_and_flows_elsewhere_are_refused_by_scheme(folder: ProjectFolder, scheme: str) -> None:
    folder.write("freshtide.yml", f"storage: {scheme}://bucket/tables")
    feed = CPU_FEED.replace("landing/cpu/*.csv", f"{scheme}://bucket/landing/*.csv")
    folder.write("feeds/cpu_feed.yml", f"{feed}punctuation: {scheme}:/bucket/done\n")
    flow = FLOW.format(source=f"{scheme}://bucket/in.csv", target=f"{scheme}://bucket/out", option="header")
    folder.write("flows/copy.yml", flow)
    problems = [problem for problem in folder.problems() if f"is on {scheme}, and Freshtide" in problem.message]
    places = sorted(str(problem.origin) for problem in problems)
    assert places == [
        "feeds/cpu_feed.yml:1",
        "feeds/cpu_feed.yml:9",
        "flows/copy.yml:3",
        "flows/copy.yml:4",
        "freshtide.yml:1",
    ]
    assert all("mounted" in str(problem.way_out) for problem in problems)


def test_a_url_of_a_file_is_answered_with_its_path(folder: ProjectFolder) -> None:
    folder.write("freshtide.yml", "storage: file:///data/tables")
    assert folder.problem() == (
        "freshtide.yml:1: 'file:///data/tables' is a URL, and a path is expected here. "
        "Write the path alone: /data/tables"
    )


def test_a_colon_in_a_name_is_no_scheme(folder: ProjectFolder) -> None:
    folder.write("freshtide.yml", "storage: /data/12:30/tables")
    assert folder.load().settings.storage == "/data/12:30/tables"


def test_a_warehouse_is_not_created_in_a_folder_called_like_a_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for create in (Warehouse, lambda place: create_starter(Path(place), "x")):
        with pytest.raises(FreshtideError, match="is on s3"):
            create("s3://bucket/shop")
    assert list(tmp_path.iterdir()) == []


def test_a_catalog_in_another_database_is_refused(folder: ProjectFolder) -> None:
    for url in ("mysql://db/freshtide", "s3://bucket/catalog"):
        folder.write("freshtide.yml", f"catalog: {url}")
        assert "SQLite" in folder.problem()


@pytest.mark.parametrize(
    "written", ["remote: sc://host", "spark.remote: sc://host", "master: sc://host", "spark.api.mode: connect"]
)
def test_spark_connect_is_refused(folder: ProjectFolder, written: str) -> None:
    folder.write("freshtide.yml", f"spark:\n  {written}\n")
    assert "Spark Connect is not supported" in folder.problem()


def test_spark_connect_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    with pytest.raises(FreshtideError, match="SPARK_REMOTE is set"):
        start_session({})


LISTED_FEED = "feeds:\n- name: cpu_feed\n" + textwrap.indent(f"{CPU_FEED}setle: 1s", "  ")
PYTHON_TABLE = "from freshtide import table\n@table(feed='cpu_feed', priorty=2)\ndef more(cpu_feed): ...\n"
COPY = FLOW.format(source="a", target="b", option="heder")
MISTAKES = [
    ("freshtide.yml", "strorage: x", "There is no setting 'strorage'. Did you mean 'storage'?"),
    ("freshtide.yml", "retry: {attemps: 2}", "There is no setting 'retry.attemps'. Did you mean 'attempts'?"),
    ("freshtide.yml", "flows: {polcy: mixed}", "There is no setting 'flows.polcy'. Did you mean 'policy'?"),
    ("freshtide.yml", "scheduler: {orderng: edf}", "Did you mean 'ordering'?"),
    ("freshtide.yml", "spark: {drivr_memory: 4g}", "Did you mean 'driver_memory'?"),
    ("freshtide.yml", "spark: {sql: {ansi: {enabled: true}}}", "like spark.sql.ansi.enabled"),
    ("feeds/cpu_feed.yml", f"{CPU_FEED}latenes: 1m", "There is no setting 'latenes'. Did you mean 'lateness'?"),
    ("feeds/cpu_feed.yml", LISTED_FEED, "There is no setting 'setle'. Did you mean 'settle'?"),
    ("feeds/cpu_feed.yml", "feeds: []\nfeed: {}", "the only key of its file"),
    ("tables/cpu.sql", CPU_TABLE.replace("AS", "TBLPROPERTIES ('priorty'='2') AS", 1), "Did you mean 'priority'?"),
    ("flows/f.yml", COPY, "csv has no option 'heder'. Did you mean 'header'?"),
    ("flows/f.yml", f"nam: x\n{COPY}", "There is no setting 'nam'. Did you mean 'name'?"),
    ("tables/more.py", PYTHON_TABLE, "unexpected keyword argument 'priorty'"),
    ("tables/more.py", "from freshtide import feed\nfeed('f', pth='x')\n", "Did you mean 'path'?"),
]


@pytest.mark.parametrize(("file", "text", "told"), MISTAKES)
def test_an_unknown_key_is_refused_wherever_it_is_written(
    folder: ProjectFolder, file: str, text: str, told: str
) -> None:
    folder.write(file, text)
    assert any(told in str(problem) for problem in folder.problems()), folder.problems()


def test_a_setting_in_python_is_checked_too(tmp_path: Path) -> None:
    with pytest.raises(FreshtideError, match="Did you mean 'tracks'"):
        Warehouse(tmp_path, trcks=2)


def test_the_options_of_formats_are_those_that_spark_has(spark: SparkSession) -> None:
    names = {
        "csv": "org.apache.spark.sql.catalyst.csv.CSVOptions$",
        "json": "org.apache.spark.sql.catalyst.json.JSONOptions$",
        "parquet": "org.apache.spark.sql.execution.datasources.parquet.ParquetOptions$",
    }
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    for kind, name in names.items():
        there = jvm.java.lang.Class.forName(name).getField("MODULE$").get(None).getAllOptions().mkString(",")
        assert set(there.split(",")) <= FORMAT_OPTIONS[kind], kind
