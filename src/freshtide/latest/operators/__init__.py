"""Operators over update streams, and continuous queries made of them (Moga et al. 2009, section 3.2).

They are plain Python over single tuples: what the results of Spark are held against, and what runs in virtual time. The
query of a user's table is not made of them: Spark runs that.
"""

from freshtide.latest.operators.accumulators import (
    Accumulator,
    AccumulatorFactory,
    count,
    maximum,
    mean,
    minimum,
    total,
)
from freshtide.latest.operators.aggregates import Aggregate
from freshtide.latest.operators.elements import Element, Operator, OperatorError
from freshtide.latest.operators.joins import Join
from freshtide.latest.operators.queries import ContinuousQuery, Step, UnknownStreamError
from freshtide.latest.operators.stateless import Filter, Map
from freshtide.latest.operators.unions import Union

__all__ = [
    "Accumulator",
    "AccumulatorFactory",
    "Aggregate",
    "ContinuousQuery",
    "Element",
    "Filter",
    "Join",
    "Map",
    "Operator",
    "OperatorError",
    "Step",
    "Union",
    "UnknownStreamError",
    "count",
    "maximum",
    "mean",
    "minimum",
    "total",
]
