"""The columns at every edge of a flow, from those of its sources: analysed by Spark over no rows at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.types import LongType, StructField, StructType

from freshtide.core.errors import FreshtideError, Problem, ProjectError
from freshtide.flows import FlowGraph, Node, Port, break_into_subflows, derive_strata, port_label
from freshtide.flows.activities import OUT, Function, Read, SlowlyChanging, SurrogateKey, Write
from freshtide.spark.failures import SPARK_ERRORS, plain_words
from freshtide.spark.flows.dimensions import updated_dimension
from freshtide.spark.flows.moments import ANY_MOMENT, Moment
from freshtide.spark.flows.passing import PassingRows
from freshtide.spark.flows.recordsets import Recordsets, SourceError
from freshtide.spark.flows.transforms import Frames, orders, transform
from freshtide.spark.permissions import NotPermittedError, require_permitted
from freshtide.spark.reading import empty_frame


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSchemas:
    """Columns by output, and those that each target gets."""

    by_port: Mapping[Port, StructType]
    by_target: Mapping[str, StructType]
    frames: Mapping[Port, DataFrame] = field(default_factory=dict)
    """The plans that were analysed, where they are over all rows of the sources."""


def in_order(graph: FlowGraph) -> Iterator[Node]:
    """The activities, producers before consumers."""
    for stratum in derive_strata(graph, break_into_subflows(graph)):
        for subflow in stratum:
            for name in subflow.nodes:
                yield graph[name]


def resolve_flow(
    graph: FlowGraph, recordsets: Recordsets, *, passing: PassingRows | None = None, moment: Moment = ANY_MOMENT
) -> FlowSchemas:
    """The columns at every output and target; all activities that do not fit are told of together.

    With `passing` the plans are over the rows of the sources and not over none, count what passes, and can be carried
    out at the moment.
    """
    frames: dict[Port, DataFrame] = {}
    targets: dict[str, StructType] = {}
    problems: list[Problem] = []
    for node in in_order(graph):
        # What comes after an activity that is wrong cannot be judged.
        if any(port not in frames for port in node.inputs):
            continue
        inputs = [frames[port] for port in node.inputs]
        try:
            for port, frame in _analyse(node, inputs, recordsets, targets, moment, is_empty=passing is None).items():
                frames[node.name, port] = frame if passing is None else passing.counted((node.name, port), frame)
        except SPARK_ERRORS as error:
            problems.append(_problem(graph, node, inputs, plain_words(error)))
        except FreshtideError as error:
            problems.append(_problem(graph, node, inputs, error.message, way_out=error.way_out))
    if problems:
        raise ProjectError(problems)
    return FlowSchemas(
        by_port={port: frame.schema for port, frame in frames.items()},
        by_target=targets,
        frames={} if passing is None else frames,
    )


def columns_of_targets(graph: FlowGraph, recordsets: Recordsets) -> dict[str, StructType] | None:
    """The columns of each table that a flow writes, by its name in lower case: targets, dimensions, lookup tables.

    None as long as a source has no data, and so no columns either.
    """
    try:
        for node in reads_of(graph):
            assert isinstance(node.activity, Read), "these are the reads"
            recordsets.columns(node.activity.source)
    except SourceError:
        return None
    schemas = resolve_flow(graph, recordsets)
    require_permitted_flow(graph, schemas.by_port, recordsets.session)
    found: dict[str, StructType] = {}
    for node in graph:
        if isinstance(node.activity, SurrogateKey):
            found[node.activity.lookup.lower()] = lookup_schema(node.activity, schemas.by_port[node.inputs[0]])
        elif isinstance(node.activity, Write | SlowlyChanging) and node.activity.target.table is not None:
            found[node.activity.target.table.lower()] = schemas.by_target[node.name]
    return found


def reads_of(graph: FlowGraph) -> list[Node]:
    return [node for node in graph if isinstance(node.activity, Read)]


def require_permitted_flow(graph: FlowGraph, columns: Mapping[Port, StructType], session: SparkSession) -> None:
    """Refuse expressions that reach for more than the rows of their inputs; what a function does is its own affair.

    Each activity is looked at by itself, over no rows: its plan then holds what it says and nothing else.
    """
    problems: list[Problem] = []
    for node in graph:
        if not isinstance(node.activity, Read | Write | SurrogateKey | Function):
            inputs = [empty_frame(session, columns[port]) for port in node.inputs]
            try:
                for frame in _saying_the_same(node, inputs):
                    require_permitted(frame._jdf.queryExecution().analyzed())
            except NotPermittedError as error:
                problems.append(_problem(graph, node, inputs, error.message, way_out=error.way_out))
    if problems:
        raise ProjectError(problems)


def _saying_the_same(node: Node, inputs: Sequence[DataFrame]) -> Iterable[DataFrame]:
    """Frames with all expressions of an activity."""
    if isinstance(node.activity, SlowlyChanging):
        return [inputs[0].orderBy(*orders(node.activity.order))] if node.activity.order else []
    return transform(node, inputs, moment=ANY_MOMENT).values()


def _analyse(
    node: Node,
    inputs: Sequence[DataFrame],
    recordsets: Recordsets,
    targets: dict[str, StructType],
    moment: Moment,
    *,
    is_empty: bool,
) -> Frames:
    """What the activity gives; what a target gets is put down."""
    activity = node.activity
    match activity:
        case Read():
            source = recordsets.columns(activity.source) if is_empty else recordsets.read(activity.source).frame
            found: Frames = {OUT: source}
        case Write():
            targets[node.name] = inputs[0].schema
            return {}
        case SlowlyChanging():
            held = recordsets.current_columns(activity.target)
            result = updated_dimension(node.name, activity, inputs[0], held, now=F.current_timestamp())
            targets[node.name] = result.schema
            return {}
        case SurrogateKey():
            lookup = empty_frame(recordsets.session, lookup_schema(activity, inputs[0].schema))
            found = transform(node, inputs, moment=moment, lookup=lookup)
        case _:
            found = transform(node, inputs, moment=moment)
    for frame in found.values():
        twice = [name for name, times in Counter(map(str.lower, frame.columns)).items() if times > 1]
        if twice:
            raise FreshtideError(
                f"Column '{twice[0]}' would be there twice.", way_out="Rename or drop one with an expression before."
            )
    return found


def lookup_schema(activity: SurrogateKey, schema: StructType) -> StructType:
    """The columns of a lookup table: the production key, typed as it comes, and the surrogate key."""
    missing = [name for name in activity.key if name not in schema.names]
    if missing:
        raise FreshtideError(f"Column '{missing[0]}' of the production key is not there.")
    return StructType([*(schema[name] for name in activity.key), StructField(activity.column, LongType())])


def _problem(
    graph: FlowGraph, node: Node, inputs: Sequence[DataFrame], what: str, *, way_out: str | None = None
) -> Problem:
    edges = [edge.label for edge in node.edges]
    place = f" at {', '.join(edges)}" if edges else ""
    there = "; ".join(
        f"{port_label(*port)} has {', '.join(frame.columns)}" for port, frame in zip(node.inputs, inputs, strict=True)
    )
    told = [way_out, f"Columns: {there}." if there else None]
    return Problem(
        message=f"Flow '{graph.name}', activity '{node.name}'{place}: {what}",
        origin=node.origin,
        way_out=" ".join(part for part in told if part) or None,
    )
