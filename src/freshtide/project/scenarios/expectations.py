"""What the scheduler of a scenario takes updates to cost before it has learnt it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from freshtide.core.costs import Cost, CostModel
from freshtide.core.errors import Problem
from freshtide.project.notation.validation import Duration, Place, Written
from freshtide.project.notation.yamlfile import KeyPath
from freshtide.simulation import SimulatedTable


class WrittenExpectation(Written):
    alpha: Duration
    beta: float = Field(default=0.0, ge=0.0)


def believed(expected: WrittenExpectation | None, *, learnt: bool) -> CostModel | None:
    """What learning begins with: in a warehouse that has never run, with what every new table is taken to cost."""
    if not learnt:
        return None
    return CostModel() if expected is None else CostModel.given(expected.alpha, expected.beta)


def believed_together(expected: WrittenExpectation | None, members: Sequence[SimulatedTable]) -> Cost | None:
    """The same for a group: a new one is taken to cost what its tables cost one by one."""
    models = [member.believed for member in members if member.believed is not None]
    if expected is not None or not models:
        return believed(expected, learnt=bool(models))
    alphas, betas = zip(*(model.coefficients for model in models), strict=True)
    return CostModel.given(sum(alphas), sum(betas))


def not_learnt(within: KeyPath, expected: WrittenExpectation | None, place: Place, *, learnt: bool) -> list[Problem]:
    """That something is expected of a table whose true cost the scheduler is given."""
    if expected is None or learnt:
        return []
    message = f"'{within[-1]}' has an expected cost, but the scheduler is given the true one."
    way_out = "Write costs: learnt beside the tables, or take it out."
    return [Problem(message=message, origin=place((*within, "expected")), way_out=way_out)]
