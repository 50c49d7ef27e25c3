"""Tables that flows load: what fits together, and each mistake with its file, line and way out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .folder import CPU_FEED, ProjectFolder

TABLE = "CREATE STREAMING TABLE cpu TBLPROPERTIES ('flow'='{flow}') AS SELECT time, router, cpu FROM STREAM cpu_feed;\n"
FLOW = """\
activities:
  arrived:
    read: {feed: cpu_feed}
  known:
    not_null: router
    from: arrived
  stored:
    write: {table: cpu}
    from: known
  unknown:
    write: {table: unknown_routers}
    from: known.quarantine
"""


@pytest.fixture
def loaded(cpu: ProjectFolder) -> ProjectFolder:
    """A project whose only table is loaded by a flow."""
    cpu.write("tables/cpu.sql", TABLE.format(flow="Clean"))
    cpu.write("flows/clean.yml", FLOW)
    return cpu


def test_a_table_knows_the_flow_that_loads_it_by_its_name(loaded: ProjectFolder) -> None:
    assert loaded.load().graph["cpu"].flow == "clean"


def test_a_table_in_python_names_a_flow_too(loaded: ProjectFolder) -> None:
    loaded.write("tables/cpu.sql", "")
    loaded.write(
        "tables/cpu.py",
        """\
        from freshtide import table

        @table(flow="clean")
        def cpu(cpu_feed):
            return cpu_feed
        """,
    )
    assert loaded.load().graph["cpu"].flow == "clean"


def test_views_over_a_table_that_a_flow_loads_may_use_columns_that_only_the_flow_makes(loaded: ProjectFolder) -> None:
    loaded.write("tables/hot.sql", "CREATE MATERIALIZED VIEW hot AS SELECT time, heat FROM cpu WHERE heat > 90;")
    assert loaded.load().graph["hot"].sources == ("cpu",)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("feed: cpu_feed", "files: a.csv", "clean.yml:1: The flow 'clean' loads 'cpu', but it does not read the feed"),
        (
            "feed: cpu_feed",
            "feed: cpu_fed",
            "clean.yml:2: The read 'arrived' reads the feed 'cpu_fed', which does not ",
        ),
        ("feed: cpu_feed", "feed: cpu_fed", "Did you mean 'cpu_feed'?"),
        ("table: cpu}", "table: other}", "clean.yml:1: The flow 'clean' loads 'cpu', but it does not write to"),
        ("table: cpu}", "table: cpu, mode: overwrite}", "clean.yml:7: The write 'stored' overwrites 'cpu'"),
        ("table: unknown_routers", "table: load", "clean.yml:10: The write 'unknown' writes the table load, which the"),
        (
            "not_null: router",
            "expression: {columns: {cpu: cpu}, only: true}",
            "clean.yml:7: The rows that 'stored' writes to 'cpu' lack its time column 'time'.",
        ),
        (
            "  known:",
            "  again:\n    read: {feed: cpu_feed}\n  twice:\n    write: {table: b}\n    from: again\n  known:",
            "clean.yml:4: The read 'again' reads the feed 'cpu_feed', and so does 'arrived'.",
        ),
    ],
)
def test_what_does_not_fit_is_told_at_its_place(loaded: ProjectFolder, before: str, after: str, told: str) -> None:
    loaded.write("tables/load.sql", "CREATE STREAMING TABLE load AS SELECT * FROM STREAM cpu_feed")
    text = FLOW.replace(before, after)
    loaded.write("flows/clean.yml", text.replace("known.quarantine", "arrived") if "only: true" in after else text)
    assert any(told in str(problem) for problem in loaded.problems()), loaded.problems()


def test_what_a_flow_writes_beside_its_table_is_a_reference_table_that_views_read(loaded: ProjectFolder) -> None:
    loaded.write(
        "tables/apart.sql",
        "CREATE MATERIALIZED VIEW apart AS SELECT c.time, u.cpu FROM cpu c JOIN Unknown_Routers u ON c.cpu = u.cpu;",
    )
    graph = loaded.load().graph
    made, apart = graph["unknown_routers"], graph["apart"]
    assert (made.made_by, made.is_reference, made.kind) == ("clean", True, "made")
    assert (apart.sources, apart.reference_sources) == (("cpu", "unknown_routers"), ("unknown_routers",))
    assert apart.maintain == "append"


def test_a_streaming_table_does_not_read_what_a_flow_makes(loaded: ProjectFolder) -> None:
    loaded.write("tables/more.sql", "CREATE STREAMING TABLE more AS SELECT * FROM STREAM unknown_routers;")
    assert "reads the table of a flow 'unknown_routers', but streaming tables read feeds." in loaded.problem()


def test_of_two_flows_that_assign_the_same_keys_one_is_told_to_look_them_up(loaded: ProjectFolder) -> None:
    keys = """\
activities:
  read_it: {{read: {{files: {name}/*.csv, format: csv, schema: {{router: string}}}}}}
  keyed: {{surrogate_key: {{key: [router], column: id, lookup: router_keys}}, from: read_it}}
  written: {{write: {{table: {name}}}, from: keyed}}
"""
    for name in ("first", "second"):
        loaded.write(f"flows/{name}.yml", keys.format(name=name))
    assert loaded.problem().endswith(
        "Let one flow write it, and the other read it: `read: {table: router_keys}`, and a left join on [router] in "
        "place of the surrogate_key."
    )


def test_an_unknown_flow_is_told_with_the_nearest_name(loaded: ProjectFolder) -> None:
    loaded.write("tables/cpu.sql", TABLE.format(flow="cleen"))
    told = [str(problem) for problem in loaded.problems()]
    assert "tables/cpu.sql:1: 'cpu' is loaded by the flow 'cleen', which does not exist. Did you mean 'clean'?" in told
    assert any("clean.yml:2: The read 'arrived' reads the feed 'cpu_feed', but no table is" in each for each in told)


def test_a_flow_with_a_problem_of_its_own_is_not_unknown(loaded: ProjectFolder) -> None:
    loaded.write("flows/clean.yml", FLOW.replace("not_null: router", "not_nul: router"))
    assert "kind that does not exist: 'not_nul'" in loaded.problem()


def test_the_load_of_the_guide_can_be_loaded(empty: ProjectFolder) -> None:
    text = (Path(__file__).parents[2] / "docs" / "guides" / "flows.md").read_text(encoding="utf-8")
    section = text.partition("### As the load of a table")[2].partition("\n### ")[0]
    (table,), (flow,) = (re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL) for language in ("sql", "yaml"))
    columns = "{ps_partkey: int, ps_suppkey: int, ps_availqty: int, ps_supplycost: double, at: timestamp}"
    empty.write("feeds/partsupp_feed.yml", f"path: a/*.csv\nformat: csv\nschema: {columns}\ntime_column: at\n")
    empty.write("tables/part_suppliers.sql", table)
    empty.write("flows/part_suppliers.yml", flow)
    assert empty.load().graph["part_suppliers"].flow == "part_suppliers"


def test_a_flow_loads_one_table(loaded: ProjectFolder) -> None:
    second = TABLE.format(flow="clean").replace("TABLE cpu", "TABLE more")
    loaded.write("tables/more.sql", second)
    assert loaded.problem().startswith(
        "tables/more.sql:1: 'more' is loaded by the flow 'clean', and so is 'cpu'. A flow loads one table"
    )


def test_a_flow_reads_the_feed_of_its_table_and_no_other(loaded: ProjectFolder) -> None:
    loaded.write("feeds/other_feed.yml", CPU_FEED.replace("landing/cpu", "landing/other"))
    also = "  other:\n    read: {feed: other_feed}\n  kept:\n    write: {table: kept}\n    from: other\n"
    loaded.write("flows/clean.yml", FLOW + also)
    assert loaded.problem().startswith(
        "flows/clean.yml:13: The read 'other' reads the feed 'other_feed', but 'cpu' is loaded from 'cpu_feed'."
    )


def test_update_groups_and_views_have_no_flow(loaded: ProjectFolder) -> None:
    loaded.write("tables/cpu.sql", TABLE.format(flow="clean', 'update_group'='all"))
    assert "'cpu' is loaded by a flow, so it cannot be in the update group 'all'." in str(loaded.problems())
    loaded.write("tables/cpu.sql", TABLE.format(flow="clean"))
    loaded.write("tables/v.sql", "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('flow'='clean') AS SELECT * FROM cpu")
    assert "'flow' is for streaming tables, and 'v' is a materialized view." in loaded.problem()


def test_the_policy_of_loading_flows_is_a_setting(loaded: ProjectFolder) -> None:
    loaded.write("freshtide.yml", "flows: {policy: minimum-memory}")
    assert loaded.load().settings.flow_policy == "minimum-memory"
    loaded.write("freshtide.yml", "flows: {policy: minimal}")
    assert "freshtide.yml:1" in loaded.problem()
    assert "minimum-memory" in loaded.problem()
