"""Joins: new rows of one side meet all rows of the other. Where missing partners count: by keys that have changed."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame

from freshtide.spark.incremental.operators import (
    Keys,
    NeedsAllError,
    Operator,
    When,
    key_column,
    pushed,
    restricted,
    union,
)
from freshtide.spark.incremental.plans import SIGN, Attribute, Plans, column, columns, signed
from freshtide.spark.incremental.running import Run, Settled

_KEEPS_LEFT = {"LeftOuter", "LeftSemi", "LeftAnti", "ExistenceJoin"}
"""Where each row of the left side is judged by itself, given the right side."""


class _Side:
    """One side of a join, and what of its rows must equal the other's."""

    def __init__(self, plans: Plans, plan: JavaObject, operator: Operator, keys: Sequence[JavaObject] | None) -> None:
        self.operator = operator
        self.attributes: Sequence[Attribute] = plans.output(plan)
        self._keys = keys
        ids = {attribute.id: place for place, attribute in enumerate(self.attributes)}
        numbers = [plans.attribute_id(key) for key in keys or ()]
        found = [None if number is None else ids.get(number) for number in numbers]
        self.places = None if keys is None or None in found else tuple(place for place in found if place is not None)
        """Of the columns that the keys are; None where they are computed."""

    def keys_of(self, run: Run, rows: Settled) -> pa.Table:
        """The values that the keys have in some rows."""
        assert self._keys is not None, "asked only where sides meet by keys"
        if self.places is not None:
            found = rows.values.select([column(place) for place in self.places])
            return found.rename_columns([key_column(at) for at in range(found.num_columns)])
        plans = run.plans
        bound = plans.bound(rows.handed().drop(SIGN), self.attributes)
        names = [key_column(at) for at in range(len(self._keys))]
        named = [plans.named(key, name) for key, name in zip(self._keys, names, strict=True)]
        return run.collected(plans.frame(plans.project(named, bound), names))

    def rows(self, run: Run, when: When, keys: Keys | None) -> DataFrame:
        """The rows of the side, those that can meet these keys; of computed keys perhaps others as well."""
        if keys is None:
            return self.operator.state(run, when)
        if self.places is not None:
            return self.operator.state(run, when, keys.at(self.places))
        assert self._keys is not None, "there are keys to be met"
        plans, width = run.plans, self.operator.width
        bound = plans.bound(self.operator.state(run, when), self.attributes)
        computed = [plans.named(key, column(width + at)) for at, key in enumerate(self._keys)]
        frame = plans.frame(
            plans.project([*(attribute.java for attribute in self.attributes), *computed], bound),
            columns(width + len(computed)),
        )
        return keys.at(range(width, width + len(computed))).restrict(frame).select(*columns(width))


class Join:
    """Two sides and a condition."""

    def __init__(self, plans: Plans, plan: JavaObject, left: Operator, right: Operator) -> None:
        self._plan = plan
        self._kind = plans.join_kind(plan)
        found = plans.equi_keys(plan)
        self._has_keys = found is not None
        left_keys, right_keys = found or (None, None)
        self._left = _Side(plans, plan.left(), left, left_keys)
        self._right = _Side(plans, plan.right(), right, right_keys)
        output = plans.output(plan)
        self.width = len(output)
        own = [attribute.java for attribute in output]
        self._output, self._signed_output = plans.seq(own), plans.seq([*own, plans.sign.java])
        on_left = {attribute.id: place for place, attribute in enumerate(self._left.attributes)}
        self._on_left = {place: on_left[a.id] for place, a in enumerate(output) if a.id in on_left}

    def changes(self, run: Run) -> DataFrame | None:
        left, right = run.settled(self._left.operator), run.settled(self._right.operator)
        if left is None and right is None:
            return None
        if self._kind == "Inner":
            terms = [] if left is None else [self._gained(run, left, by_left=True, when=When.AFTER)]
            if right is not None:
                terms.append(self._gained(run, right, by_left=False, when=When.BEFORE))
            return union(terms)
        if left is not None and right is None and self._kind in _KEEPS_LEFT:
            return self._gained(run, left, by_left=True, when=When.AFTER)
        if right is not None and left is None and self._kind == "RightOuter":
            return self._gained(run, right, by_left=False, when=When.AFTER)
        return self._exchanged(run, left, right)

    def state(self, run: Run, when: When, keys: Keys | None = None) -> DataFrame:
        on_left = None if keys is None else self._all_on_left(keys)
        left = self._left.operator.state(run, when, on_left)
        # What meets rows of some keys only has one of these itself, where the keys are those that must be equal.
        met = None
        if on_left is not None and self._left.places is not None and self._right.places is not None:
            places = dict(zip(self._left.places, self._right.places, strict=True))
            if all(place in places for place in on_left.places) and self._kind != "FullOuter":
                met = on_left.at(places[place] for place in on_left.places)
        right = self._right.operator.state(run, when, met)
        frame = self._joined(run, left, right)
        return frame if on_left is not None else restricted(frame, keys)

    def _all_on_left(self, keys: Keys) -> Keys | None:
        """Keys of columns of the left side, where rows of it that have others make no row that has these."""
        return None if self._kind in {"RightOuter", "FullOuter"} else pushed(keys, self._on_left)

    def _gained(self, run: Run, changed: Settled, *, by_left: bool, when: When) -> DataFrame:
        """What changes of one side give with the rows of the other."""
        own, other = (self._left, self._right) if by_left else (self._right, self._left)
        keys = run.keys(own.keys_of(run, changed)) if self._has_keys else None
        plans, sign = run.plans, run.sign
        moved = plans.bound(changed.handed(), own.attributes, sign)
        met = plans.bound(other.rows(run, when, keys), other.attributes)
        joined = plans.over(self._plan, *((moved, met) if by_left else (met, moved)))
        return plans.frame(plans.project_known(self._signed_output, joined), [*columns(self.width), SIGN])

    def _exchanged(self, run: Run, left: Settled | None, right: Settled | None) -> DataFrame:
        """All rows of the keys that have changed, as they were and as they are."""
        if not self._has_keys:
            raise NeedsAllError("A join without equal columns has to be computed anew where its right side changes.")
        found = [
            side.keys_of(run, rows) for side, rows in ((self._left, left), (self._right, right)) if rows is not None
        ]
        keys = run.keys(*found)
        before, after = (
            self._joined(run, self._left.rows(run, when, keys), self._right.rows(run, when, keys))
            for when in (When.BEFORE, When.AFTER)
        )
        return signed(before, -1).unionAll(signed(after, 1))

    def _joined(self, run: Run, left: DataFrame, right: DataFrame) -> DataFrame:
        plans = run.plans
        sides = plans.bound(left, self._left.attributes), plans.bound(right, self._right.attributes)
        return plans.frame(plans.project_known(self._output, plans.over(self._plan, *sides)), columns(self.width))
