"""Maintenance: how a view is kept up to date, from its shape, its sources and the user's wishes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from freshtide.core.errors import FreshtideError
from freshtide.core.grains import INSTANT, Grain
from freshtide.core.tables import Emit, Maintenance
from freshtide.sql import Shape, nests


class MaintenanceError(FreshtideError):
    """A way of maintaining a view that would not give the right rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """How a source behaves."""

    appends_only: bool
    """Whether its rows, once there, stay as they are."""
    revisable_forever: bool
    """Whether no row of it is ever final: maintained in full, or by append without exact times or lookback."""
    keeps_latest: bool = False
    """Whether it keeps the newest row of each key only: no row of it is ever final, and its past is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenancePlan:
    """How a view is maintained, and why."""

    maintain: Maintenance
    time_column: str | None
    grain: Grain | None
    linear: bool
    exact_time: bool
    reason: str


def opaque_shape(time_column: str | None, grain: Grain | None) -> Shape:
    """The shape of a view of which only its declarations are known: a Python function."""
    return Shape(
        time_column=time_column,
        grain=grain,
        local=False,
        linear=False,
        exact_time=False,
        reason="a Python function does not show how its rows depend on those of its sources",
    )


def plan_maintenance(
    shape: Shape,
    *,
    name: str,
    sources: Mapping[str, SourceFacts],
    requested: Maintenance | None,
    lookback: float | None,
    emit: Emit,
    declared_grain: Grain | None,
    trusted: bool = False,
) -> MaintenancePlan:
    """The best way to maintain the view that gives the right rows, or the requested one if it does.

    With `trusted`, for Python functions, a requested maintenance is believed.
    """
    case = _Case(
        name=name,
        shape=_with_grain(shape, declared_grain, name),
        sources=sources,
        lookback=lookback,
        wants_buckets=emit is Emit.CLOSED or (declared_grain is not None and not declared_grain.is_instant),
        trusted=trusted,
    )
    if trusted and requested is not None:
        case = replace(case, shape=case.believed(requested))
    match requested:
        case None:
            plan = case.inferred()
        case Maintenance.APPEND:
            plan = case.append()
        case Maintenance.PARTITIONS:
            plan = case.partitions()
        case Maintenance.FULL:
            plan = case.full("as declared")
        case Maintenance.INCREMENTAL:
            plan = replace(case.full("as declared"), maintain=Maintenance.INCREMENTAL)
        case Maintenance.LATEST:
            raise MaintenanceError(
                f"The view '{name}' cannot keep the newest row of each key: it does not say what the key is.",
                way_out="Declare 'update_key' instead of 'maintain'.",
            )
    if emit is Emit.CLOSED:
        _check_closing(plan, name)
    return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A view whose maintenance is to be decided."""

    name: str
    shape: Shape
    sources: Mapping[str, SourceFacts]
    lookback: float | None
    wants_buckets: bool
    """Whether buckets were asked for: a view that could be appended to is then partitioned."""
    trusted: bool

    def inferred(self) -> MaintenancePlan:
        shape = self.shape
        if against := self._against_pieces():
            return self.full(against)
        has_buckets = shape.local or self.lookback is not None
        appends = self._revised is None and not (self.wants_buckets and has_buckets)
        if appends and (self._is_instant or (shape.linear and shape.exact_time)):
            return self.append()
        if shape.local:
            return self.partitions()
        # Without exact times no row is final before the lookback has passed, so this comes after the above.
        if appends and shape.linear:
            return self.append()
        return self.full(shape.reason) if self.lookback is None else self.partitions()

    def append(self) -> MaintenancePlan:
        self._refuse_timeless(Maintenance.APPEND)
        shape = self._with_time(Maintenance.APPEND)
        self._refuse_sources_in_full(Maintenance.APPEND)
        if revised := self._revised:
            raise MaintenanceError(
                f"The view '{self.name}' cannot be maintained by append: its source '{revised}' revises its rows.",
                way_out=f"Declare maintain 'partitions', or emit 'closed' on '{revised}'.",
            )
        if not (self._is_instant or shape.linear):
            raise MaintenanceError(
                f"The view '{self.name}' cannot be maintained by append: {self._against_append()}.",
                way_out="Leave 'maintain' out, or declare 'partitions' or 'full'.",
            )
        return MaintenancePlan(
            maintain=Maintenance.APPEND,
            time_column=shape.time_column,
            # With exact times rows become final just when those of the sources do.
            grain=shape.source_grain if shape.exact_time else shape.grain or INSTANT,
            linear=shape.linear,
            exact_time=shape.exact_time,
            reason=shape.reason if self._is_instant else f"new rows join with all others: {shape.reason}",
        )

    def partitions(self) -> MaintenancePlan:
        self._refuse_timeless(Maintenance.PARTITIONS)
        shape = self._with_time(Maintenance.PARTITIONS)
        self._refuse_sources_in_full(Maintenance.PARTITIONS)
        if not shape.local and self.lookback is None:
            lookback = "'lookback': how far from its own time a row depends on rows of the sources"
            grain = "'grain', if a row depends on the rows of its own bucket only, or " if self.trusted else ""
            raise MaintenanceError(
                f"The view '{self.name}' cannot be maintained by partitions: {shape.reason}.",
                way_out=f"Declare {grain}{lookback}.",
            )
        return MaintenancePlan(
            maintain=Maintenance.PARTITIONS,
            time_column=shape.time_column,
            grain=shape.grain or INSTANT,
            linear=False,
            exact_time=shape.exact_time,
            reason=shape.reason if shape.local else f"within the declared lookback, though {shape.reason}",
        )

    def full(self, reason: str) -> MaintenancePlan:
        return MaintenancePlan(
            maintain=Maintenance.FULL,
            time_column=self.shape.time_column,
            grain=self.shape.grain,
            linear=False,
            exact_time=self.shape.exact_time,
            reason=reason,
        )

    def believed(self, requested: Maintenance) -> Shape:
        """The shape that the requested maintenance takes for granted."""
        shape = replace(self.shape, reason="as declared")
        if requested is Maintenance.APPEND and len(self.sources) == 1:
            closing = shape.grain or INSTANT
            return replace(shape, grain=INSTANT, local=True, exact_time=True, source_grain=closing)
        if requested is Maintenance.APPEND:
            return replace(shape, linear=True)
        if requested is Maintenance.PARTITIONS and shape.grain is not None:
            return replace(shape, local=True)
        return self.shape

    @property
    def _is_instant(self) -> bool:
        """Whether the rows of a time stamp follow from the source rows of just that time stamp."""
        grain = self.shape.grain
        return self.shape.local and self.shape.exact_time and grain is not None and grain.is_instant

    @property
    def _revised(self) -> str | None:
        """The first source, by name, that revises its rows."""
        return min((name for name, facts in self.sources.items() if not facts.appends_only), default=None)

    @property
    def _never_final(self) -> str | None:
        """The first source, by name, whose rows are never final."""
        return min((name for name, facts in self.sources.items() if facts.revisable_forever), default=None)

    @property
    def _without_past(self) -> str | None:
        """The first source, by name, that is an update table."""
        return min((name for name, facts in self.sources.items() if facts.keeps_latest), default=None)

    def _refuse_timeless(self, wanted: Maintenance) -> None:
        if not self.sources:
            raise MaintenanceError(
                f"The view '{self.name}' cannot be maintained by {wanted}: it reads nothing but reference tables, "
                "which do not move on in time.",
                way_out="Leave 'maintain' out: it is computed anew when one of them changes.",
            )

    def _with_time(self, wanted: Maintenance) -> Shape:
        if self.shape.time_column is None:
            raise MaintenanceError(
                f"The view '{self.name}' has no time column, so it cannot be maintained by {wanted}: "
                f"{self.shape.reason}.",
                way_out="Select one, declare 'time_column', or leave 'maintain' out: it is then maintained in full.",
            )
        return self.shape

    def _refuse_sources_in_full(self, wanted: Maintenance) -> None:
        if forever := self._never_final:
            raise MaintenanceError(
                f"The view '{self.name}' cannot be maintained by {wanted}: no row of its source '{forever}' is "
                "ever final.",
                way_out=f"Leave 'maintain' out, or maintain '{forever}' other than in full.",
            )

    def _against_pieces(self) -> str | None:
        """Why the view can only be computed as a whole, whatever else its query is like."""
        if latest := self._without_past:
            return f"its source '{latest}' keeps only the newest row of each key, so its past is gone"
        if not self.sources:
            return "it reads nothing but reference tables, which are read as they are"
        if self.shape.time_column is None:
            return self.shape.reason
        if forever := self._never_final:
            return f"no row of its source '{forever}' is ever final"
        return None

    def _against_append(self) -> str:
        if self.shape.local:
            return f"its rows change until their bucket of {self.shape.grain} is over"
        return self.shape.reason


def _with_grain(shape: Shape, declared: Grain | None, name: str) -> Shape:
    """The shape in the declared buckets, which must hold whole those that the query makes."""
    if declared is None:
        return shape
    if shape.local and shape.grain is not None and not nests(declared, shape.grain):
        raise MaintenanceError(
            f"The view '{name}' declares the grain '{declared}', but its rows depend on buckets of {shape.grain}.",
            way_out="Leave 'grain' out, or declare one whose buckets hold these whole.",
        )
    return replace(shape, grain=declared)


def _check_closing(plan: MaintenancePlan, name: str) -> None:
    if plan.maintain is not Maintenance.PARTITIONS:
        raise MaintenanceError(
            f"The view '{name}' cannot emit closed buckets only: it is maintained by {plan.maintain} ({plan.reason}).",
            way_out="Leave 'emit' out, or group by a time bucket, as with date_trunc('hour', ...).",
        )
    if plan.grain is None or plan.grain.is_instant:
        raise MaintenanceError(
            f"The view '{name}' cannot emit closed buckets only: it has no buckets wider than an instant.",
            way_out="Leave 'emit' out, or declare 'grain'.",
        )
