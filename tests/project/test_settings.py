from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.errors import ProjectError
from freshtide.project.notation.sizes import SizeError, parse_size
from freshtide.project.notation.yamlfile import parse_yaml
from freshtide.project.settings.settings import Retry, Settings, read_settings
from freshtide.scheduling import Policy


def settings(text: str) -> Settings:
    return read_settings(parse_yaml(text, "freshtide.yml"), default_name="folder")


def problems(text: str) -> list[str]:
    with pytest.raises(ProjectError) as caught:
        settings(text)
    return [str(problem) for problem in caught.value.problems]


def test_an_empty_file_leaves_everything_at_its_default() -> None:
    assert settings("") == Settings(name="folder")


def test_everything_can_be_set() -> None:
    written = """
name: network
tracks: 4
scheduler: fifo
storage: /data/warehouse
catalog: postgresql://db/freshtide
retry: {attempts: 2, backoff: 500ms, longest: 2m}
poll: 100ms
large_update: 1GiB
update_memory: 2MB
retention: 7d
min_free: 500MB
"""
    assert settings(written) == Settings(
        name="network",
        tracks=4,
        policy=Policy(ordering="fifo"),
        storage="/data/warehouse",
        catalog="postgresql://db/freshtide",
        retry=Retry(attempts=2, backoff=0.5, longest=120.0),
        poll=0.1,
        large_update=2**30,
        update_memory=2_000_000,
        retention=7 * 86_400.0,
        min_free=500_000_000,
    )


def test_spark_settings_have_short_names_and_nest() -> None:
    written = """
spark:
  master: local[2]
  app_name: network
  driver_memory: 2g
  executor_memory: 4g
  executors: 3
  packages: [a:b:1, c:d:2]
  spark.sql:
    shuffle.partitions: 8
    adaptive.enabled: true
"""
    assert settings(written).spark == {
        "spark.master": "local[2]",
        "spark.app.name": "network",
        "spark.driver.memory": "2g",
        "spark.executor.memory": "4g",
        "spark.executor.instances": "3",
        "spark.jars.packages": "a:b:1,c:d:2",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.adaptive.enabled": "true",
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "name: x\ntrack: 3\n",
            "freshtide.yml:2: There is no setting 'track'. Did you mean 'tracks'? Known: catalog, flows, large_update, "
            "min_free, name, poll, retention, retry, scheduler, spark, storage, tracks, update_memory.",
        ),
        ("tracks: 0\n", "freshtide.yml:1: 'tracks' must be at least 1, not '0'."),
        ("tracks: many\n", "freshtide.yml:1: 'tracks' must be a whole number, not 'many'."),
        ("name: 3\n", "freshtide.yml:1: 'name' must be text, not '3'. Put it in quotes."),
        ("name:\n  a: 1\n", "freshtide.yml:1: 'name' must be text, not keys and values."),
        (
            "retry:\n  attemps: 3\n",
            "freshtide.yml:2: There is no setting 'retry.attemps'. Did you mean 'attempts'? "
            "Known: attempts, backoff, longest.",
        ),
        (
            "retry:\n  backoff: 3 parsecs\n",
            "freshtide.yml:2: '3 parsecs' is not a duration. Write it like 90s, 5m, 1h30m or '15 minutes'.",
        ),
        ("retry: 4\n", "freshtide.yml:1: 'retry' must be keys and values, not '4'."),
        (
            "poll: 0\n",
            "freshtide.yml:1: 'poll' must be longer than 0s, not '0'. Write it like 90s, 5m, 1h30m or '15 minutes'.",
        ),
        ("poll: [1]\n", "freshtide.yml:1: A duration is expected here, not a list. Write one word or number."),
        (
            "large_update: big\n",
            "freshtide.yml:1: 'big' is not a size. Write it like 500kB, 64MB or 1GiB.",
        ),
        (
            "spark: fast\n",
            "freshtide.yml:1: Spark's configuration is keys and values. Write it like {spark.driver.memory: 4g}.",
        ),
        (
            "spark:\n  master:\n",
            "freshtide.yml:1: Spark's 'master' has no value. Write \"\" for an empty one.",
        ),
        (
            "- tracks\n",
            "freshtide.yml:1: Keys and values are expected here. Known: catalog, flows, large_update, min_free, name, "
            "poll, retention, retry, scheduler, spark, storage, tracks, update_memory.",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line_and_the_way_out(text: str, problem: str) -> None:
    assert problems(text) == [problem]


def test_all_mistakes_are_told_at_once() -> None:
    assert len(problems("tracks: 0\npoll: soon\nname: [a]\nstorag: x\n")) == 4


@pytest.mark.parametrize(
    ("text", "size"),
    [("64MB", 64_000_000), ("1GiB", 2**30), (" 500 kB ", 500_000), ("1.5kib", 1536), ("12", 12), (7, 7), ("3B", 3)],
)
def test_sizes_are_read(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MB", "-1MB", "1XB", "1iB", True, "64 MB or so"])
def test_what_is_no_size_is_refused(text: str | int) -> None:
    with pytest.raises(SizeError, match="is not a size"):
        parse_size(text)


@given(number=st.integers(min_value=0, max_value=10**6), power=st.integers(min_value=0, max_value=4))
def test_binary_units_are_powers_of_1024(number: int, power: int) -> None:
    unit = ["B", "KiB", "MiB", "GiB", "TiB"][power]
    assert parse_size(f"{number}{unit}") == number * 1024**power


@pytest.mark.parametrize("url", ["sqlite:///books.db?bogus=1", "postgresql+psycopg://db/freshtide?bogus=1"])
def test_a_parameter_of_the_catalog_that_nobody_knows_is_told(url: str) -> None:
    (problem,) = problems(f"name: network\ncatalog: {url}\n")
    assert "freshtide.yml:2" in problem
    assert "'bogus'" in problem


def test_a_parameter_of_the_catalog_that_its_driver_knows_is_taken() -> None:
    assert settings("catalog: sqlite:///books.db?timeout=30\n").catalog is not None
    assert settings("catalog: postgresql+psycopg://db/freshtide?sslmode=require\n").catalog is not None
