"""What a query may refer to: the tables that it is given, and functions that reach for nothing else.

Judged by the plan that Spark has analysed, not by the words of the text: a name can be written in many ways, and
`IDENTIFIER('java_' || 'method')` names a function as well as its name does. What operators and leaves of a plan may be
is listed, anything else is refused. Of expressions those are listed that reach for files, the JVM, the session or who
runs it; a test holds the list against all functions that Spark has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

from freshtide.core.errors import UsageError
from freshtide.spark.jvm import jvm_of

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_OPERATORS = "org.apache.spark.sql.catalyst.plans.logical."
_PERMITTED_OPERATORS = frozenset(
    {
        "Aggregate",
        "AsOfJoin",
        "CTERelationDef",
        "CTERelationRef",
        "Deduplicate",
        "Distinct",
        "Except",
        "Expand",
        "Filter",
        "Generate",
        "GlobalLimit",
        "Intersect",
        "Join",
        "LateralJoin",
        "LocalLimit",
        "LocalRelation",
        "Offset",
        "OneRowRelation",
        "Project",
        "Range",
        "RebalancePartitions",
        "Repartition",
        "RepartitionByExpression",
        "ResolvedHint",
        "Sample",
        "Sort",
        "SubqueryAlias",
        "Tail",
        "Union",
        "UnionLoop",
        "UnionLoopRef",
        "Unpivot",
        "View",
        "Window",
        "WithCTE",
    }
)
_CALLS_JAVA = "calls a method of the Java virtual machine"
_NAMES_A_FILE = "can name a file to read"
_LOADS_WHAT_XML_NAMES = "parses XML, which can name files and addresses that are loaded with it"
_ASKS_THE_SESSION = "asks who runs the warehouse, or for the state of its session"
_ASKS_FOR_FILES = "asks for the file of a row, which only the query of a streaming table can know"
_FILES_OF_ROWS = frozenset({"InputFileName", "InputFileBlockStart", "InputFileBlockLength"})
_XPATH_KINDS = ("Boolean", "Double", "Float", "Int", "List", "Long", "Short", "String")
REFUSED: Mapping[str, str] = {
    "CallMethodViaReflection": _CALLS_JAVA,
    "TryReflect": _CALLS_JAVA,
    "FromProtobuf": _NAMES_A_FILE,
    "ToProtobuf": _NAMES_A_FILE,
    "XmlToStructs": _NAMES_A_FILE,
    "SchemaOfXml": _NAMES_A_FILE,
    **{f"XPath{kind}": _LOADS_WHAT_XML_NAMES for kind in _XPATH_KINDS},
    "PythonWorkerLogs": "reads the logs of the session",
    "CurrentUser": _ASKS_THE_SESSION,
    "CurrentCatalog": _ASKS_THE_SESSION,
    "CurrentDatabase": _ASKS_THE_SESSION,
    "CurrentPath": _ASKS_THE_SESSION,
    "VariableReference": _ASKS_THE_SESSION,
    **dict.fromkeys(_FILES_OF_ROWS, _ASKS_FOR_FILES),
}
"""Expressions that no query may hold, by class, with the reason."""
# These run what they hold while they are analysed: they are refused before.
_RUN_WHEN_ANALYSED = frozenset({"CompoundBody", "ExecuteImmediateQuery", "UnresolvedExecuteImmediate"})


class NotPermittedError(UsageError):
    """A query that reaches for more than the tables that it is given."""


def analysed(session: SparkSession, text: str, *, views: frozenset[str], files: bool = False) -> DataFrame:
    """The query, looked at before anything of it is carried out.

    It may read temporary views of these names. With `files` it may ask for the file that a row comes from.
    """
    jvm = jvm_of(session)
    parsed = jvm.parse(session, text)
    for node in _nodes(json.loads(parsed.toJSON())):
        if _name(node) in _RUN_WHEN_ANALYSED:
            raise NotPermittedError("It is a statement that runs others, not a query.", way_out="Write a SELECT.")
    plan = jvm.analyse(session, parsed)
    require_permitted(plan, views=views, files=files)
    return jvm.frame(session, plan)


def require_permitted(plan: JavaObject, *, views: frozenset[str] = frozenset(), files: bool = False) -> None:
    """Refuse an analysed plan that refers to anything but these views, or holds what no query may."""
    for node in _nodes(json.loads(plan.toJSON())):
        fault = _fault(node, views, files=files)
        if fault is not None:
            raise NotPermittedError(
                f"The query {fault}, and no query may.",
                way_out="Read declared tables and feeds with functions of rows; for more, write a function in Python.",
            )


def names_in(plan: JavaObject) -> set[str]:
    """What a plan consists of: the classes of its operators and expressions."""
    return {_name(node) for node in _nodes(json.loads(plan.toJSON()))}


def _fault(node: Mapping[str, Any], views: frozenset[str], *, files: bool) -> str | None:
    name = _name(node)
    if name in REFUSED:
        return None if files and name in _FILES_OF_ROWS else REFUSED[name]
    if node["class"].startswith(_EXPRESSIONS):
        return None
    if name == "View":
        identifier = node["desc"]["identifier"]
        is_given = identifier["table"] in views and "database" not in identifier
        return None if is_given else f"reads '{identifier['table']}', which is not declared"
    if node["class"].startswith(_OPERATORS) and name in _PERMITTED_OPERATORS:
        return None
    return f"reads or runs what is not declared ({name})"


def _name(node: Mapping[str, Any]) -> str:
    return str(node["class"]).rpartition(".")[2]


def _nodes(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every operator and expression of a plan as Spark writes it in JSON, those of subqueries too."""
    if isinstance(value, list):
        for item in value:
            yield from _nodes(item)
    elif isinstance(value, dict):
        if "class" in value and "num-children" in value:
            yield value
        for item in value.values():
            yield from _nodes(item)
