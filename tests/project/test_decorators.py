from __future__ import annotations

import sys

import pytest

from freshtide.core.errors import Origin
from freshtide.core.grains import Grain
from freshtide.core.tables import FunctionQuery, Maintenance
from freshtide.project import Declarations, NoProjectError, collecting, feed, materialized_view, table
from freshtide.project.tables.functions import fingerprint

from .folder import ProjectFolder


def function_of(cpu: ProjectFolder, name: str) -> FunctionQuery:
    query = cpu.load().graph[name].query
    assert isinstance(query, FunctionQuery)
    return query


def test_a_whole_project_can_be_written_in_python(empty: ProjectFolder) -> None:
    empty.write(
        "tables/all.py",
        """
        from freshtide.project import feed, materialized_view, table

        feed("cpu_feed", path="landing/*.csv", format="csv", schema={"time": "timestamp", "cpu": "double"},
             time_column="time", period="5m")

        @table(feed="cpu_feed", priority=2, target_lag="5m", partition_by=["time"])
        def cpu(rows):
            return rows

        @materialized_view
        def everything(cpu):
            return cpu

        @materialized_view(name="hourly", sources={"rows": "cpu"}, maintain="partitions", time_column="hour",
                           grain="hour", lookback="10m")
        def by_hour(rows, factor=2):
            return rows
        """,
    )
    project = empty.load()
    cpu, everything, hourly = (project.graph[name] for name in ("cpu", "everything", "hourly"))
    assert str(project.feeds["cpu_feed"].origin) == "tables/all.py:4"
    assert (cpu.feed, cpu.time_column, cpu.priority, cpu.target_lag) == ("cpu_feed", "time", 2.0, 300.0)
    assert (cpu.partition_by, str(cpu.origin)) == (("time",), "tables/all.py:7")
    assert (everything.sources, everything.maintain) == (("cpu",), Maintenance.FULL)
    assert (hourly.maintain, hourly.time_column, hourly.grain, hourly.lookback) == (
        Maintenance.PARTITIONS,
        "hour",
        Grain.of_seconds(3600),
        600.0,
    )
    assert isinstance(hourly.query, FunctionQuery)
    assert hourly.query.parameters == {"rows": "cpu"}, "a parameter with a default is no source"


def test_functions_can_be_called_after_loading_and_use_the_modules_of_the_project(cpu: ProjectFolder) -> None:
    cpu.write("shared_code.py", "def doubled(rows):\n    return rows * 2\n")
    cpu.write(
        "tables/v.py",
        """
        from freshtide.project import materialized_view
        from shared_code import doubled

        @materialized_view(maintain="full")
        def v(cpu):
            return doubled(cpu)
        """,
    )
    query = function_of(cpu, "v")
    assert query.function(cpu=[1]) == [1, 1]
    assert "shared_code" not in sys.modules
    assert str(cpu.root.resolve()) not in sys.path
    assert not any(name.startswith("freshtide_project_") for name in sys.modules)


def test_sources_can_be_listed_in_the_order_of_the_parameters(cpu: ProjectFolder) -> None:
    cpu.write(
        "tables/v.py",
        """
        from freshtide.project import materialized_view

        @materialized_view(maintain="full", sources=["CPU", "cpu"])
        def v(left, right):
            return left
        """,
    )
    assert function_of(cpu, "v").parameters == {"left": "cpu", "right": "cpu"}


def test_a_fingerprint_follows_the_function_and_not_its_decorator(cpu: ProjectFolder) -> None:
    text = """
    from freshtide.project import materialized_view

    @materialized_view(maintain="full", priority={priority})
    def v(cpu):
        return cpu.limit({limit})
    """
    prints = []
    for priority, limit in ((1, 1), (2, 1), (1, 2)):
        cpu.write("tables/v.py", text.format(priority=priority, limit=limit))
        prints.append(function_of(cpu, "v").fingerprint)
    assert prints[0] == prints[1]
    assert prints[0] != prints[2]


def test_a_function_without_source_text_is_told_apart_by_its_code() -> None:
    made = [eval(compile(text, "<nowhere>", "eval")) for text in ("lambda a: a + 1", "lambda a: a + 2")]
    again = eval(compile("lambda a: a + 1", "<nowhere>", "eval"))
    assert fingerprint(made[0]) == fingerprint(again) != fingerprint(made[1])


@pytest.mark.parametrize(
    ("python", "problem"),
    [
        ("x = 1\nraise ValueError('no luck')\n", "tables/v.py:2: Running the file failed with ValueError: no luck."),
        (
            "def f():\n    return 1 / 0\n\nf()\n",
            "tables/v.py:2: Running the file failed with ZeroDivisionError: division by zero.",
        ),
        ("import json\n\njson.loads('{')\n", None),
        ("def f(:\n", "tables/v.py:1: The Python is broken: invalid syntax."),
        ("import sys\nsys.exit(1)\n", "tables/v.py:2: The file ends the program. Take sys.exit() out."),
    ],
)
def test_a_file_that_fails_is_told_with_the_line_of_the_user(
    cpu: ProjectFolder, python: str, problem: str | None
) -> None:
    cpu.write("tables/v.py", python)
    told = cpu.problem()
    assert told == problem or (problem is None and told.startswith("tables/v.py:3: "))
    assert "Traceback" not in told


def test_a_failure_in_a_module_of_the_project_is_told_there(cpu: ProjectFolder) -> None:
    cpu.write("shared_code.py", "\n\nboom = [][1]\n")
    cpu.write("tables/v.py", "import shared_code\n")
    assert cpu.problem() == "shared_code.py:3: Running the file failed with IndexError: list index out of range."


@pytest.mark.parametrize(
    ("python", "problem"),
    [
        (
            "@materialized_view(priority=0)\ndef v(cpu): ...",
            "tables/v.py:3: '0' is not a priority. A priority is a number from 0.000001 to 1,000,000; with 0.01 a "
            "table counts for a hundredth of one with 1.",
        ),
        (
            "@materialized_view\ndef v(cppu): ...",
            "tables/v.py:3: There is no table 'cppu'. Did you mean 'cpu'?",
        ),
        (
            "@materialized_view\ndef v(): ...",
            "tables/v.py:3: 'v' has no parameters, so it has no sources. "
            "Give it a parameter for each table that it reads, called like the table.",
        ),
        (
            "@materialized_view\ndef v(*cpu): ...",
            "tables/v.py:3: 'v' has the parameter '*cpu', which cannot be a source. "
            "Give it one plain parameter per source.",
        ),
        (
            "@materialized_view(sources={'cpp': 'cpu'})\ndef v(cpu): ...",
            "tables/v.py:3: 'v' has no parameter 'cpp' to pass a source to. Did you mean 'cpu'?",
        ),
        (
            "@materialized_view(sources=['cpu'])\ndef v(a, b): ...",
            "tables/v.py:3: 'v' has 2 parameters (a, b), and sources does not name as many. "
            "Name one source per parameter, or map parameters to sources: {'parameter': 'table'}.",
        ),
        (
            "@table(feed='cpu_fed')\ndef v(rows): ...",
            "tables/v.py:3: There is no feed 'cpu_fed'. Did you mean 'cpu_feed'?",
        ),
        (
            "@table\ndef v(cpu_fed): ...",
            "tables/v.py:3: There is no feed 'cpu_fed'. Did you mean 'cpu_feed'?",
        ),
        (
            "feed('other', path='x', format='csv', schema={'time': 'timestamp'}, time_column='tme')",
            "tables/v.py:3: The time column 'tme' is not in the schema. Did you mean 'time'?",
        ),
    ],
)
def test_a_mistake_in_a_declaration_is_told_with_its_line(cpu: ProjectFolder, python: str, problem: str) -> None:
    cpu.write("tables/v.py", f"from freshtide.project import feed, materialized_view, table\n\n{python}\n")
    assert cpu.problem() == problem


def test_outside_of_a_project_the_decorators_say_where_they_belong() -> None:
    with pytest.raises(NoProjectError, match=r"@table was used outside of a project\. .*freshtide\.Warehouse"):
        table(feed="cpu_feed")
    with pytest.raises(NoProjectError, match="@materialized_view"):
        materialized_view(lambda cpu: cpu)
    with pytest.raises(NoProjectError, match=r"feed\(\)"):
        feed("cpu_feed")


def test_a_decorated_function_stays_what_it_was(cpu: ProjectFolder) -> None:
    declarations = Declarations()
    with collecting(declarations, cpu.root):

        @materialized_view
        def v(cpu: int) -> int:
            return cpu + 1

    assert v(1) == 2
    assert isinstance(declarations.tables["v"].origin, Origin)
