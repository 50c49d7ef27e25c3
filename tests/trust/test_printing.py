"""What a command prints steers no terminal and is JSON where that is asked for; exit codes are as in the guide."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table

from freshtide.catalog import Catalog
from freshtide.cli.output import _SafeConsole, visible
from freshtide.cli.reports import _cell
from freshtide.core.arrivals import ArrivalState
from freshtide.project import create_starter, load_project
from freshtide.runs import Places
from freshtide.spark import SparkSession
from tests.catalog.arrivals import a_file
from tests.commands import freshtide, leaving_spark_to_others

ESCAPE = "\x1b]0;taken over\x07\x1b[2J"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("printing") / "shop"
    create_starter(folder, "shop")
    return folder


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A project with a file that is called like a command for the terminal, and is wrong."""
    folder = tmp_path / "shop"
    create_starter(folder, "shop")
    (folder / "tables" / f"{ESCAPE}[red].sql").write_text(f"CREATE MATERIALIZED VIEW v AS SELECT * FROM `{ESCAPE}x`")
    return folder


def test_names_do_not_steer_the_terminal(wrong: Path) -> None:
    done = freshtide("status", at=wrong)
    assert done.returncode == 2
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout + done.stderr
    assert r"\x1b[2J[red].sql" in done.stderr


def test_a_name_of_a_file_is_one_line(shop: Path) -> None:
    forged = "x.csv\n● all is well\r.csv"
    catalog = Catalog.open(Places(load_project(shop)).catalog_url)
    file = replace(a_file(forged), state=ArrivalState.QUARANTINED, reason="It cannot be read.")
    catalog.arrivals.register(replace(file, feed="orders_feed"), [])
    catalog.close()
    done = freshtide("feeds", at=shop)
    assert r"x.csv\n● all is well\r.csv is quarantined" in done.stdout


def test_cells_do_not_steer_the_terminal_whose_colours_stay() -> None:
    shown = io.StringIO()
    console = _SafeConsole(file=shown, force_terminal=True, color_system="standard", width=200)
    table = Table("[red]value[/red]", "cell")
    hostile = f"\x1b[31mcell\x9b2J \u202eflipped \udc80 {ESCAPE}"
    table.add_row(hostile, _cell(hostile))
    console.print(table)
    printed = shown.getvalue()
    assert "\x1b[1;31mvalue" in printed, "our own colours"
    assert r"\x1b[31mcell\x9b2J \u202eflipped \udc80 \x1b]0;taken over\x07\x1b[2J" in printed
    for steering in ("\x1b[31mcell", "\x9b", "\u202e", "\udc80", "\x07", "\x1b[2J"):
        assert steering not in printed


def test_lines_and_tabs_stay_as_they_are() -> None:
    assert visible("a\tb\nc – ü") == "a\tb\nc – ü"


COMMANDS = [
    "validate",
    "status",
    "freshness",
    "feeds",
    "feeds retry",
    "plan",
    "run --once",
    "audit",
    "explain v",
    "pause v",
    "resume v",
    "backfill v",
    "flow list",
    "flow run v",
    "trace replay",
    "simulate",
    "query SELECT",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_printed_where_the_project_is_wrong(wrong: Path, command: str) -> None:
    done = freshtide(*command.split(), "--json", at=wrong)
    told: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == 2, done.stderr
    assert told["error"]
    (problem,) = told["problems"]
    assert problem["line"] == 1
    assert problem["file"].endswith("[red].sql")
    assert "There is no table" in problem["message"]
    assert "\x1b" not in done.stdout


def test_what_a_projects_python_prints_is_not_in_the_way_of_json(wrong: Path) -> None:
    (wrong / "tables" / "noisy.py").write_text("print('noise')\n")
    done = freshtide("validate", "--json", at=wrong)
    assert json.loads(done.stdout)["problems"]
    assert "noise" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "ordres"],
        ["pause", "ordres"],
        ["resume", "ordres"],
        ["backfill", "ordres"],
        ["status", "--select", "ordres"],
        ["freshness", "--select", "ordres"],
        ["flow", "show", "ordres"],
        ["flow", "run", "ordres"],
        ["feeds", "retry", "--feed", "ordres"],
    ],
)
def test_a_name_that_nobody_declared_makes_the_call_wrong(shop: Path, words: list[str]) -> None:
    done = freshtide(*words, "--json", at=shop)
    assert done.returncode == 2, done.stderr
    assert "ordres" in json.loads(done.stdout)["error"]


@pytest.mark.parametrize(
    "question",
    ["SELECT * FROM ordres", "SELECT amuont FROM orders", "SELECT FROM", "SELECT current_user() FROM orders"],
)
def test_a_question_that_cannot_be_understood_makes_the_call_wrong(
    shop: Path,
    spark: SparkSession,  # noqa: ARG001 - the command finds it
    question: str,
) -> None:
    with leaving_spark_to_others():
        done = freshtide("query", question, "--json", at=shop)
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stdout)["error"]
