"""Operators that make of each row what that row alone tells: filter, project, expand, explode, union."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame

from freshtide.spark.incremental.operators import Keys, Operator, When, pushed, restricted, union
from freshtide.spark.incremental.plans import SIGN, Attribute, Plans, columns, listed
from freshtide.spark.incremental.running import Run


class RowWise:
    """An operator that is linear: what it makes of changes is what changes of it."""

    def __init__(self, plans: Plans, plan: JavaObject, child: Operator, *, passes: Mapping[int, int]) -> None:
        """`passes` says which columns are those of the child, by their places here and there."""
        self._plan = plan
        self._child = child
        self._passes = passes
        self._below: Sequence[Attribute] = plans.output(plan.child())
        output = [attribute.java for attribute in plans.output(plan)]
        self.width = len(output)
        self._output, self._signed_output = plans.seq(output), plans.seq([*output, plans.sign.java])

    def changes(self, run: Run) -> DataFrame | None:
        below = self._child.changes(run)
        if below is None:
            return None
        plans, sign = run.plans, run.sign
        done = self._with_sign(plans, plans.bound(below, self._below, sign))
        return plans.frame(done, [*columns(self.width), SIGN])

    def state(self, run: Run, when: When, keys: Keys | None = None) -> DataFrame:
        below = pushed(keys, self._passes)
        child = self._child.state(run, when, below)
        plans = run.plans
        done = plans.over(self._plan, plans.bound(child, self._below))
        frame = plans.frame(plans.project_known(self._output, done), columns(self.width))
        return frame if below is not None else restricted(frame, keys)

    def _with_sign(self, plans: Plans, child: JavaObject) -> JavaObject:
        """The operator over rows that have a sign. Most pass on all columns that they do not know."""
        return plans.project_known(self._signed_output, plans.over(self._plan, child))


class Project(RowWise):
    """SELECT without anything that looks at more than one row."""

    def _with_sign(self, plans: Plans, child: JavaObject) -> JavaObject:
        return plans.project_known(self._expressions, child)

    def __init__(self, plans: Plans, plan: JavaObject, child: Operator, *, passes: Mapping[int, int]) -> None:
        super().__init__(plans, plan, child, passes=passes)
        self._expressions = plans.seq([*listed(plan.projectList()), plans.sign.java])


class Expand(RowWise):
    """Several rows of one: grouping sets, sliding windows."""

    def _with_sign(self, plans: Plans, child: JavaObject) -> JavaObject:
        return plans.project_known(self._signed_output, plans.expanded(self._plan, child, plans.sign))


class Union:
    """UNION ALL."""

    def __init__(self, children: Sequence[Operator]) -> None:
        self._children = children
        self.width = children[0].width

    def changes(self, run: Run) -> DataFrame | None:
        found = [frame for child in self._children if (frame := child.changes(run)) is not None]
        return union(found) if found else None

    def state(self, run: Run, when: When, keys: Keys | None = None) -> DataFrame:
        return union([child.state(run, when, keys) for child in self._children])
