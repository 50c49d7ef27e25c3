"""freshtide flow and freshtide validate, as a user types them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from .scenarios import Answer, Terminal

FLOW = """\
activities:
  orders:
    read: {files: landing/*.csv, format: csv, schema: {id: int, amount: double}}
  complete: {not_null: id, from: orders}
  sizes:
    router: {routes: {small: amount < 50, large: amount >= 50}}
    from: complete
  few: {write: {table: small_orders}, from: sizes.small}
  totals: {aggregate: {columns: {total: sum(amount)}}, from: sizes.large}
  many: {write: {table: totals}, from: totals}
"""
PYTHON = """\
from freshtide import Flow

copied = Flow("copied")
copied.read(table="small_orders").write(files="out/small_orders")
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project of two flows."""
    (tmp_path / "freshtide.yml").write_text("name: shop\n", encoding="utf-8")
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "orders.yml").write_text(FLOW, encoding="utf-8")
    (tmp_path / "flows" / "copied.py").write_text(PYTHON, encoding="utf-8")
    return tmp_path


def flow(terminal: Terminal, shop: Path, *words: str) -> Answer:
    return terminal.type("flow", *words, "--project", str(shop))


def test_flows_are_listed_with_what_they_write(terminal: Terminal, shop: Path) -> None:
    assert flow(terminal, shop, "list", "--json").json == [
        {
            "name": "copied",
            "activities": 2,
            "subflows": 1,
            "strata": 1,
            "writes": ["files out/small_orders"],
            "declared_in": "flows/copied.py:3",
        },
        {
            "name": "orders",
            "activities": 6,
            "subflows": 5,
            "strata": 4,
            "writes": ["table small_orders", "table totals"],
            "declared_in": "flows/orders.yml:1",
        },
    ]
    assert "table small_orders, table totals" in flow(terminal, shop, "list").out


def test_a_flow_is_shown_as_text(terminal: Terminal, shop: Path) -> None:
    shown = flow(terminal, shop, "show", "Orders").out
    assert "stratum 2" in shown
    assert "■ totals" in shown
    assert "← sizes.large" in shown


def test_a_flow_is_shown_as_json(terminal: Terminal, shop: Path) -> None:
    shown = flow(terminal, shop, "show", "orders", "--json").json
    assert [[each["activities"] for each in stratum] for stratum in shown["strata"]] == [
        [["orders", "complete"]],
        [["sizes"]],
        [["few"], ["totals"]],
        [["many"]],
    ]
    (totals,) = (each for each in shown["activities"] if each["name"] == "totals")
    assert totals == {
        "name": "totals",
        "kind": "aggregate",
        "summary": "total",
        "from": ["sizes.large"],
        "outputs": ["out"],
        "blocks": True,
        "memory_intensive": True,
        "subflow": 3,
        "stratum": 2,
        "declared_in": "flows/orders.yml:9",
    }


def test_a_flow_is_drawn_into_a_file(terminal: Terminal, shop: Path, tmp_path: Path) -> None:
    target = tmp_path / "orders.svg"
    answer = flow(terminal, shop, "show", "orders", "--svg", str(target))
    assert answer.code == 0
    assert str(target) in answer.out
    names = {text.text for text in ET.parse(target).iter("{http://www.w3.org/2000/svg}text")}
    assert {"orders", "complete", "sizes", "few", "totals", "many"} <= names


def test_a_folder_that_is_not_there_is_told(terminal: Terminal, shop: Path) -> None:
    answer = flow(terminal, shop, "show", "orders", "--svg", str(shop / "nowhere" / "orders.svg"))
    assert answer.code == 1
    assert "The drawing cannot be written to" in answer.err


def test_a_flow_that_is_not_there_is_told_with_the_one_that_was_meant(terminal: Terminal, shop: Path) -> None:
    answer = flow(terminal, shop, "show", "order")
    assert answer.code == 2
    assert "There is no flow 'order'." in answer.err
    assert "Did you mean 'orders'?" in answer.err


def test_a_project_without_flows_says_where_they_go(terminal: Terminal, shop: Path) -> None:
    for file in (shop / "flows").iterdir():
        file.unlink()
    (shop / "feeds").mkdir()
    (shop / "tables").mkdir()
    feed = "path: landing/*.csv\nformat: csv\nschema: {time: timestamp}\ntime_column: time\n"
    (shop / "feeds" / "times.yml").write_text(feed, encoding="utf-8")
    table = "CREATE STREAMING TABLE moments AS SELECT * FROM STREAM times;\n"
    (shop / "tables" / "moments.sql").write_text(table, encoding="utf-8")
    assert "Declare them in YAML or Python in the folder flows/." in flow(terminal, shop, "list").out


def test_validate_tells_everything_that_is_wrong_with_a_flow(terminal: Terminal, shop: Path) -> None:
    wrong = FLOW.replace("amount >= 50", "amount > 40").replace("from: sizes.small", "from: sizes.smal")
    (shop / "flows" / "orders.yml").write_text(wrong, encoding="utf-8")
    answer = terminal.type("validate", "--project", str(shop))
    assert answer.code == 2
    assert "flows/orders.yml:5: The router 'sizes' has routes that overlap" in answer.err
    assert "flows/orders.yml:8: The write 'few' takes rows from 'sizes.smal'" in answer.err
    assert "Did you mean 'small'?" in answer.err
