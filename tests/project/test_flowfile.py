"""Flows in files: what they come to, and each mistake with its file, line and way out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from freshtide.core.errors import Origin
from freshtide.flows import ACTIVITIES, Recordset
from freshtide.flows.activities import (
    Aggregate,
    Deduplicate,
    Difference,
    Expression,
    Filter,
    Function,
    Join,
    NotNull,
    Pivot,
    Read,
    Router,
    SlowlyChanging,
    Sort,
    SortedUnion,
    SurrogateKey,
    Union,
    Write,
)
from freshtide.project.flows.activities import PARAMETERS

from .folder import ProjectFolder

EVERYTHING = """\
activities:
  orders:
    read:
      files: landing/*.csv
      format: csv
      schema: {id: int, amount: "decimal(10,2)"}
      options: {header: "true"}
  customers:   {read: {table: customers}}
  complete:    {not_null: [id, customer], from: orders}
  incomplete:  {write: {files: out/incomplete, format: json, mode: append}, from: complete.quarantine}
  positive:    {filter: amount > 0, from: complete}
  taxed:       {expression: {columns: {tax: amount * 0.2}}, from: positive}
  fewer:       {expression: {columns: {id: id}, only: true}, from: taxed}
  cleaned:     {function: cleaning.py:trimmed, from: fewer}
  keyed:       {surrogate_key: {key: customer, column: customer_id, lookup: customer_ids}, from: cleaned}
  joined:      {join: {on: customer_id, how: left, method: sort-merge}, from: [keyed, customers]}
  hashed:      {join: [customer_id], from: [joined, customers]}
  all:         {union: , from: [hashed, cleaned, customers]}
  merged:      {sorted_union: id, from: [all, customers]}
  fresh:       {difference: [id], from: [merged, customers]}
  single:      {deduplicate: {key: id, order: [day DESC]}, from: fresh}
  distinct:    {deduplicate: , from: single}
  ordered:     {sort: [id, day DESC], from: distinct}
  totals:      {aggregate: {by: [customer, month], columns: {total: sum(amount)}}, from: ordered}
  months:      {pivot: {by: customer, column: month, values: [1, 2], columns: {total: sum(total)}}, from: totals}
  sizes:       {router: {routes: {low: total < 50, high: total >= 50}}, from: totals}
  small:       {write: {table: small}, from: sizes.low}
  large:       {write: {table: large}, from: sizes.high}
  rest:        {write: {table: rest}, from: sizes.otherwise}
  pivoted:     {write: {table: months}, from: months}
  history:
    slowly_changing: {table: customers, key: customer, type: 2, compare: [total], as_of: day}
    from: totals
"""
CLEANING = "def trimmed(frame):\n    return frame\n"
LINE = """\
activities:
  rows:
    read: {table: cpu}
  busy:
    filter: cpu > 50
    from: rows
  stored:
    write: {table: busy_routers}
    from: busy
"""


def test_every_kind_of_activity_can_be_written(cpu: ProjectFolder) -> None:
    cpu.write("flows/everything.yml", EVERYTHING)
    cpu.write("flows/cleaning.py", CLEANING)
    graph = cpu.load().flows["everything"]
    assert {node.activity.kind for node in graph} == set(ACTIVITIES)
    activities = {node.name: node.activity for node in graph}
    function = activities.pop("cleaned")
    assert isinstance(function, Function)
    assert (function.name, function.function("frame")) == ("cleaning.py:trimmed", "frame")
    assert activities == {
        "orders": Read(
            source=Recordset(
                files="landing/*.csv",
                format="csv",
                schema={"id": "int", "amount": "decimal(10,2)"},
                options={"header": "true"},
            )
        ),
        "customers": Read(source=Recordset(table="customers")),
        "complete": NotNull(columns=("id", "customer")),
        "incomplete": Write(target=Recordset(files="out/incomplete", format="json"), mode="append"),
        "positive": Filter(condition="amount > 0"),
        "taxed": Expression(columns={"tax": "amount * 0.2"}),
        "fewer": Expression(columns={"id": "id"}, only=True),
        "keyed": SurrogateKey(key=("customer",), column="customer_id", lookup="customer_ids"),
        "joined": Join(on=("customer_id",), how="left", method="sort-merge"),
        "hashed": Join(on=("customer_id",)),
        "all": Union(),
        "merged": SortedUnion(by=("id",)),
        "fresh": Difference(on=("id",)),
        "single": Deduplicate(key=("id",), order=("day DESC",)),
        "distinct": Deduplicate(),
        "ordered": Sort(by=("id", "day DESC")),
        "totals": Aggregate(by=("customer", "month"), columns={"total": "sum(amount)"}),
        "months": Pivot(by=("customer",), column="month", values=(1, 2), columns={"total": "sum(total)"}),
        "sizes": Router(routes={"low": "total < 50", "high": "total >= 50"}),
        "small": Write(target=Recordset(table="small")),
        "large": Write(target=Recordset(table="large")),
        "rest": Write(target=Recordset(table="rest")),
        "pivoted": Write(target=Recordset(table="months")),
        "history": SlowlyChanging(
            target=Recordset(table="customers"), key=("customer",), type=2, compare=("total",), as_of="day"
        ),
    }


def test_edges_are_named_with_their_outputs(cpu: ProjectFolder) -> None:
    cpu.write("flows/everything.yml", EVERYTHING)
    cpu.write("flows/cleaning.py", CLEANING)
    graph = cpu.load().flows["everything"]
    assert graph["incomplete"].inputs == (("complete", "quarantine"),)
    assert graph["all"].inputs == (("hashed", "out"), ("cleaned", "out"), ("customers", "out"))
    assert graph["large"].inputs == (("sizes", "high"),)


def test_a_flow_is_called_like_its_file_unless_it_says_otherwise(cpu: ProjectFolder) -> None:
    cpu.write("flows/line.yml", LINE)
    cpu.write("flows/more/other.yaml", "name: second\n" + LINE.replace("busy_routers", "others"))
    assert list(cpu.load().flows) == ["line", "second"]


def test_each_activity_knows_its_line(cpu: ProjectFolder) -> None:
    cpu.write("flows/line.yml", LINE)
    origins = [node.origin for node in cpu.load().flows["line"]]
    assert origins == [Origin(file="flows/line.yml", line=line) for line in (2, 4, 7)]


PYTHON = """\
from freshtide import Flow

flow = Flow("line")
again = flow
rows = flow.read(table="cpu").filter("cpu > 50")
rows.write(table="busy_routers")
"""


def test_flows_in_python_are_found_with_their_lines(cpu: ProjectFolder) -> None:
    cpu.write("flows/line.py", PYTHON)
    cpu.write("flows/other.py", "from flows.line import rows, flow\n")
    (graph,) = cpu.load().flows.values()
    assert [(node.name, node.origin) for node in graph] == [
        ("read_1", Origin(file="flows/line.py", line=5)),
        ("filter_1", Origin(file="flows/line.py", line=5)),
        ("write_1", Origin(file="flows/line.py", line=6)),
    ]


def test_a_project_may_consist_of_flows_alone(empty: ProjectFolder) -> None:
    empty.write("flows/line.yml", LINE.replace("{table: cpu}", "{files: landing/*.parquet}"))
    assert list(empty.load().flows) == ["line"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "flows/f.yml:1: Nothing is declared here. Known: activities, name."),
        ("name: f\n", "flows/f.yml:1: 'activities' is missing."),
        (
            "activities:\n  rows: {raed: {table: cpu}}\n",
            "flows/f.yml:2: The activity 'rows' is of a kind that does not exist: 'raed'. Did you mean 'read'? ",
        ),
        (
            "activities:\n  rows:\n    from: other\n",
            "flows/f.yml:2: The activity 'rows' must have one kind, and say where its rows come from. "
            "Write it like `rows: {filter: amount > 0, from: orders}`.",
        ),
        (
            LINE.replace("filter: cpu > 50", "filter: {conditon: cpu > 50, condition: a}"),
            "flows/f.yml:5: There is no setting 'activities.busy.filter.conditon'. Did you mean 'condition'?",
        ),
        (LINE.replace("filter: cpu > 50", "filter:"), "flows/f.yml:5: 'activities.busy.filter.condition' is missing."),
        (
            LINE.replace("filter: cpu > 50", "join: {on: x, how: outer}"),
            "flows/f.yml:5: 'outer' is not one of inner, left, right, full, semi, anti.",
        ),
        (
            LINE.replace("filter: cpu > 50", "not_null: 7"),
            "flows/f.yml:5: A column or a list of columns is expected here. Write it like [order_id, day].",
        ),
        (
            LINE.replace("filter: cpu > 50", "slowly_changing: {table: d, key: k, type: 3}"),
            "flows/f.yml:5: '3' is not a type of dimension. Write 1 to overwrite, or 2 to keep the history.",
        ),
        (
            LINE.replace("filter: cpu > 50", "pivot: {by: a, column: b, values: 1, columns: {}}"),
            "flows/f.yml:5: A list of texts or whole numbers is expected here.",
        ),
        (LINE.replace("from: rows", "from: 5"), "flows/f.yml:6: 'from' of the activity 'busy' must name activities."),
        (
            LINE.replace("from: rows", "from: rosw\n  other: {write: {table: o}, from: rows}"),
            "flows/f.yml:4: The filter 'busy' takes rows from 'rosw', which is no activity of this flow. "
            "Did you mean 'rows'?",
        ),
        (
            LINE.replace("filter: cpu > 50", "function: cleaning.py"),
            "flows/f.yml:5: 'cleaning.py' does not name a function.",
        ),
        (
            LINE.replace("filter: cpu > 50", "function: claening.py:trimmed"),
            "flows/f.yml:5: There is no file 'claening.py' in flows/. Did you mean 'cleaning.py'?",
        ),
        (
            LINE.replace("filter: cpu > 50", "function: cleaning.py:trim"),
            "flows/f.yml:5: There is no function 'trim' in flows/cleaning.py. Did you mean 'trimmed'?",
        ),
        (
            LINE.replace("table: cpu", "table: cpuu"),
            "flows/f.yml:2: The read 'rows' reads the table 'cpuu', which nobody declares or writes. "
            "Did you mean 'cpu'?",
        ),
        (
            LINE.replace("table: busy_routers", "table: CPU"),
            "flows/f.yml:7: The write 'stored' writes the table CPU, which the project keeps up to date by its own "
            "declaration.",
        ),
        (
            LINE.replace("table: busy_routers", "table: cpu__late"),
            "flows/f.yml:7: 'cpu__late' cannot be a name: Freshtide keeps rows aside under names that end in __late.",
        ),
        (
            LINE.replace("{table: cpu}", "{files: a.csv, format: csv, schema: {x: integr}}"),
            "flows/f.yml:2: 'integr' is not a Spark type (column 'x').",
        ),
        (
            "name: 2nd\n" + LINE,
            "flows/f.yml:1: '2nd' cannot be the name of a flow.",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line_and_way_out(cpu: ProjectFolder, text: str, problem: str) -> None:
    cpu.write("flows/f.yml", text)
    cpu.write("flows/cleaning.py", CLEANING)
    assert cpu.problem().startswith(problem)


def test_a_mistake_in_a_flow_in_python_is_told_with_its_line(cpu: ProjectFolder) -> None:
    cpu.write("flows/line.py", PYTHON.replace('"cpu > 50"', '""'))
    assert cpu.problem().startswith("flows/line.py:5: The filter 'filter_1' has nothing in 'condition'.")


def test_a_file_of_flows_that_fails_is_told_once_though_a_function_of_it_is_used(cpu: ProjectFolder) -> None:
    cpu.write("flows/cleaning.py", CLEANING + "\n1 / 0\n")
    cpu.write("flows/f.yml", LINE.replace("filter: cpu > 50", "function: cleaning.py:trimmed"))
    assert [str(problem) for problem in cpu.problems()] == [
        "flows/cleaning.py:4: Running the file failed with ZeroDivisionError: division by zero.",
        "flows/f.yml:5: 'cleaning.py:trimmed' is not there: running its file failed. Mend the file first.",
    ]


def test_two_flows_of_one_name_are_told(cpu: ProjectFolder) -> None:
    cpu.write("flows/a.yml", "name: line\n" + LINE)
    cpu.write("flows/b.yml", "name: Line\n" + LINE)
    assert cpu.problem() == (
        "flows/b.yml:1: The flow 'Line' has the name of the flow 'line' in flows/a.yml:1. Rename one of them."
    )


def test_two_flows_that_write_one_table_are_told(cpu: ProjectFolder) -> None:
    cpu.write("flows/a.yml", LINE)
    cpu.write("flows/b.yml", LINE)
    assert cpu.problem() == (
        "flows/b.yml:7: The write 'stored' writes the table busy_routers, and so does the write 'stored' of the flow "
        "'a'. Let one flow write it, and the other read it: `read: {table: busy_routers}`."
    )


def test_a_flow_may_read_what_another_one_writes(cpu: ProjectFolder) -> None:
    cpu.write("flows/a.yml", LINE)
    cpu.write("flows/b.yml", LINE.replace("busy_routers", "busier").replace("table: cpu", "table: BUSY_routers"))
    assert list(cpu.load().flows) == ["a", "b"]


def test_a_flow_may_read_the_rows_that_were_kept_aside(cpu: ProjectFolder) -> None:
    cpu.write("flows/a.yml", LINE.replace("table: cpu", "table: cpu__rejects"))
    assert list(cpu.load().flows) == ["a"]


def test_broken_yaml_is_told_with_its_line(cpu: ProjectFolder) -> None:
    cpu.write("flows/a.yml", "activities:\n  rows: {read\n")
    assert cpu.problem().startswith("flows/a.yml:3: The YAML is broken")


GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "flows.md"


@pytest.mark.parametrize("language", ["yaml", "python"])
def test_the_flow_of_the_guide_can_be_loaded(empty: ProjectFolder, language: str) -> None:
    example, *_ = re.findall(rf"```{language}\n# (\S+)\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    empty.write(*example)
    (graph,) = empty.load().flows.values()
    assert graph.name == "part_suppliers"
    assert [node.activity.kind for node in graph] == ["read", "not_null", "expression", "write", "write"]
    assert graph.writes[1].inputs[0][1] == "quarantine"


def test_the_guide_describes_every_kind_with_all_its_keys() -> None:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    described = {kind: set(re.findall(r"`(\w+)`", keys)) for kind, keys in rows if kind in PARAMETERS}
    assert set(described) == set(PARAMETERS)
    for kind, model in PARAMETERS.items():
        assert {field.alias or name for name, field in model.model_fields.items()} <= described[kind]
