"""What all tests share: one Spark for everything that needs it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Commands within this process print for no terminal, as wide as they like: that is settled when they are loaded.
os.environ.pop("COLUMNS", None)

import freshtide.cli.output  # noqa: F401 - for that alone
from freshtide.spark import SparkSession, start_session
from tests.catalogs import GIVEN
from tests.examples import IS_THOROUGH, examples

# Tests are short: a JVM that compiles lightly and collects its garbage on one thread is through with them in half
# the time. It must have room for all that it compiles: else it throws code away and compiles it anew, for a fifth of
# the time. By the environment, so that processes which tests start do so as well.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m")

# Every commit waits for the disk: a fifth of the time. What is written into memory is there at once. The slow suite
# writes to the disk.
_MEMORY = Path("/dev/shm")
_MEMORY_BYTES = 4 * 2**30
if not IS_THOROUGH and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _MEMORY_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# A change is judged by the same examples each time; at a desk every run looks at new ones. A busy machine is no fault.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=examples(100))
settings.register_profile("desk", deadline=None, max_examples=examples(100))
settings.load_profile("ci" if os.environ.get("CI") else "desk")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A Spark session, started when the first test asks for it."""
    log: Path = tmp_path_factory.mktemp("spark") / "spark.log"
    # Room for what updates leave behind: otherwise its garbage is collected twice in each test.
    settings = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": "-Xms1g -Xmn640m"}
    if not (IS_THOROUGH or GIVEN):
        # Spark writes Java for the expressions of each new plan, and compiles it: longer than a test looks at its rows.
        settings |= {"spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.codegen.wholeStage": "false"}
    session = start_session(settings, log=log)
    yield session
    session.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that need Spark come first: they take longest, and what is short evens out when the workers are done."""
    with_spark = {item.path for item in items if isinstance(item, pytest.Function) and "spark" in item.fixturenames}
    items.sort(key=lambda item: item.path not in with_spark)
