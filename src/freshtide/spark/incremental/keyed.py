"""Operators that look at all rows of a key: window functions, sessions, the first so many rows.

The rows of a key that has changed are computed anew, those of all others are kept. Where rows are equal by the order
that the query asks for, either of them may come first: what is taken back is what was given, since that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame

from freshtide.spark.incremental.operators import Keys, Operator, When, key_column, restricted
from freshtide.spark.incremental.plans import SIGN, Attribute, Plans, column
from freshtide.spark.incremental.running import Run


class Keyed:
    """An operator whose rows of a key follow from the rows of that key. What is kept: the key, then its rows."""

    def __init__(
        self,
        plans: Plans,
        plan: JavaObject,
        bottom: JavaObject,
        child: Operator,
        place: int,
        *,
        keys: Sequence[Attribute],
        output: Sequence[Attribute],
    ) -> None:
        """`plan` is one operator or several above each other, the lowest of which, `bottom`, stands on the child.

        The columns of the key are among those of the child, and pass through. `output` are those that are asked for.
        """
        self.place = place
        self._plan = plan
        self._depth = _depth(plan, bottom)
        self._child = child
        self._below: Sequence[Attribute] = plans.output(bottom.child())
        ids = {attribute.id: at for at, attribute in enumerate(self._below)}
        self._key_places = tuple(ids[attribute.id] for attribute in keys)
        self._keys = [attribute.java for attribute in keys]
        self._output = output
        self.width = len(self._output)
        self.kept = [*self._keys, *(attribute.java for attribute in output)]
        """Expressions of what is kept, for their types."""
        own = {attribute.id: at for at, attribute in enumerate(self._output)}
        self._passes = {own[attribute.id]: at for at, attribute in enumerate(keys) if attribute.id in own}

    def changes(self, run: Run) -> DataFrame | None:
        exchanged = self._brought_forward(run)
        return None if exchanged is None else self._result(run.plans, exchanged, SIGN)

    def state(self, run: Run, when: When, keys: Keys | None = None) -> DataFrame:
        if when is When.AFTER:
            self.prepare(run)
        can_pass = keys is not None and all(place in self._passes for place in keys.places)
        own = keys.at(self._passes[place] for place in keys.places) if keys is not None and can_pass else None
        frame = self._result(run.plans, run.states.rows(self.place, when, own))
        return frame if own is not None else restricted(frame, keys)

    def prepare(self, run: Run) -> None:
        """See to it that what is kept is what it will be."""
        if run.states.is_begun(self.place):
            return
        if run.states.builds_anew:
            everything = self._computed(run, self._child.state(run, When.AFTER))
            run.states.build(self.place, everything, key_width=len(self._keys))
        else:
            self._brought_forward(run)

    def _brought_forward(self, run: Run) -> DataFrame | None:
        """The rows of the keys that have changed, as they were and as they are, with signs; None where none has."""
        if run.states.is_begun(self.place):
            return run.states.exchanged(self.place)
        below = run.settled(self._child)
        if below is None:
            run.states.leave(self.place)
            return None
        found = below.values.select([column(place) for place in self._key_places])
        keys = run.keys(found.rename_columns([key_column(at) for at in range(found.num_columns)]))
        run.states.taken(self.place, keys)
        rows = self._child.state(run, When.AFTER, keys.at(self._key_places) if self._key_places else None)
        return run.states.replace(self.place, keys, self._computed(run, rows))

    def _computed(self, run: Run, rows: DataFrame) -> DataFrame:
        """The operator's rows of whole keys, each behind its key."""
        plans = run.plans
        done = _over(plans, self._plan, self._depth, plans.bound(rows, self._below))
        output = [*self._keys, *(attribute.java for attribute in self._output)]
        named = [plans.named(attribute, column(at)) for at, attribute in enumerate(output)]
        return plans.plain_frame(plans.project(named, done))

    def _result(self, plans: Plans, kept: DataFrame, *more: str) -> DataFrame:
        """The rows without the key before them."""
        width = len(self._keys)
        own = [f"{column(width + place)} AS {column(place)}" for place in range(self.width)]
        return plans.select(kept, (*own, *more))


def _depth(plan: JavaObject, bottom: JavaObject) -> int:
    depth = 0
    while not plan.fastEquals(bottom):
        plan, depth = plan.child(), depth + 1
    return depth


def _over(plans: Plans, plan: JavaObject, depth: int, child: JavaObject) -> JavaObject:
    """Some operators above each other, over other rows."""
    below = child if depth == 0 else _over(plans, plan.child(), depth - 1, child)
    return plans.over(plan, below)
