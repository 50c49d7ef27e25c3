from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freshtide import Warehouse
from freshtide.core.errors import ProjectError
from freshtide.project import settings_from
from freshtide.project.notation.yamlfile import parse_yaml
from freshtide.project.settings.settings import read_settings
from freshtide.scheduling import (
    ORDERINGS,
    TARGET_LAGS,
    EdfPartitioned,
    GlobalAllocation,
    GroupAndRun,
    MaxInheritance,
    MaxPlusInheritance,
    NoInheritance,
    Policy,
    Proportional,
    SumInheritance,
)

OF_THE_PAPERS = sorted(set(ORDERINGS) - {"target-lag"})
NAMES = (
    "adaptive, edf, edf-p, edf-partitioned, fifo, global, group-and-run, lookahead, max-benefit, myopic, proportional, "
    "prp, random, shortest-period, target-lag"
)


def policy(text: str) -> Policy:
    return read_settings(parse_yaml(text, "freshtide.yml"), default_name="shop").policy


def test_without_a_word_about_it_the_default_schedules() -> None:
    assert policy("") == policy("scheduler:\n") == policy("scheduler: {}") == TARGET_LAGS
    assert policy("scheduler: target-lag") == policy("scheduler: {ordering: target-lag}") == TARGET_LAGS


@pytest.mark.parametrize("name", OF_THE_PAPERS)
def test_the_name_of_an_ordering_of_the_papers_goes_with_what_they_found_best(name: str) -> None:
    assert policy(f"scheduler: {name}") == policy(f"scheduler: {{ordering: {name}}}") == Policy(ordering=name)


@pytest.mark.parametrize(
    ("name", "allocation"),
    [("global", GlobalAllocation()), ("edf-partitioned", EdfPartitioned()), ("proportional", Proportional())],
)
def test_the_name_of_an_allocation_goes_with_what_the_paper_found_best(
    name: str, allocation: GlobalAllocation | EdfPartitioned | Proportional
) -> None:
    assert policy(f"scheduler: {name}") == Policy(allocation=allocation)
    assert policy(f"scheduler: {{allocation: {name}}}") == replace(TARGET_LAGS, allocation=allocation)


def test_group_and_run_by_name_is_the_whole_algorithm_of_the_paper() -> None:
    expected = Policy(ordering="myopic", allocation=GroupAndRun(), inheritance=NoInheritance(), chopping=None)
    assert policy("scheduler: group-and-run") == expected


@pytest.mark.parametrize("ordering", OF_THE_PAPERS)
def test_group_and_run_takes_any_ordering(ordering: str) -> None:
    written = policy(f"scheduler: {{ordering: {ordering}, allocation: group-and-run}}")
    assert written == Policy(ordering=ordering, allocation=GroupAndRun())


@pytest.mark.parametrize("written", ["myopic", "{ordering: myopic}", "{ordering: myopic, chopping: none}"])
def test_myopic_is_never_chopped(written: str) -> None:
    assert policy(f"scheduler: {written}").chopping is None


def test_every_parameter_can_be_set() -> None:
    written = """
scheduler:
  ordering: edf-p
  allocation: {name: proportional, aggressive: false, tracks: basic, k: 10, measure: period}
  inheritance: {max-plus: 2}
  chopping: 1.5
  repartition: 2
  seed: 7
"""
    assert policy(written) == Policy(
        ordering="edf-p",
        allocation=Proportional(aggressive=False, tracks="basic", k=10.0, measure="period"),
        inheritance=MaxPlusInheritance(k=2.0),
        chopping=1.5,
        repartition=2.0,
        seed=7,
    )


@pytest.mark.parametrize(
    ("written", "changes"),
    [
        ("allocation: {name: edf-partitioned, aggressive: true}", {"allocation": EdfPartitioned(aggressive=True)}),
        ("allocation: {name: global}", {"allocation": GlobalAllocation()}),
        ("inheritance: none", {"inheritance": NoInheritance()}),
        ("inheritance: sum", {"inheritance": SumInheritance()}),
        ("inheritance: max", {"inheritance": MaxInheritance()}),
        ("chopping: none", {"chopping": None}),
        ("chopping: null", {"chopping": None}),
        ("chopping: 1", {"chopping": 1.0}),
        ("chopping: Slack", {"chopping": "slack"}),
    ],
)
def test_parts_can_be_set_alone(written: str, changes: dict[str, Any]) -> None:
    assert policy(f"scheduler: {{{written}}}") == replace(TARGET_LAGS, **changes)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "name: shop\nscheduler: max_benefit\n",
            "freshtide.yml:2: 'max_benefit' is not a scheduler. Did you mean 'max-benefit'? "
            f"Known: {NAMES}. Or choose each part: {{ordering: ..., allocation: ...}}.",
        ),
        (
            "scheduler: [fifo]\n",
            f"freshtide.yml:1: A scheduler is a name, or keys and values. Known: {NAMES}. "
            "Or choose each part: {ordering: ..., allocation: ...}.",
        ),
        (
            "scheduler:\n  order: fifo\n",
            "freshtide.yml:2: There is no setting 'scheduler.order'. Did you mean 'ordering'? "
            "Known: allocation, chopping, inheritance, ordering, repartition, seed.",
        ),
        (
            "scheduler:\n  seed: 1\n  ordering: fifi\n",
            "freshtide.yml:3: 'fifi' is not an ordering. Did you mean 'fifo'? "
            "Known: edf, edf-p, fifo, lookahead, max-benefit, myopic, random, shortest-period, target-lag.",
        ),
        (
            "scheduler:\n  ordering: myopic\n  chopping: 3\n",
            "freshtide.yml:3: 'myopic' loads all that is pending at once, so its updates cannot be chopped. "
            "Take 'chopping' out, or choose another ordering: edf, edf-p, fifo, lookahead, max-benefit, random, "
            "shortest-period, target-lag.",
        ),
        (
            "scheduler:\n  allocation: {name: group-and-run, aggressive: true}\n",
            "freshtide.yml:2: There is no setting 'scheduler.allocation.aggressive'. Known: name.",
        ),
        (
            "scheduler:\n  allocation: globl\n",
            "freshtide.yml:2: 'globl' is not an allocation. Did you mean 'global'? "
            "Known: edf-partitioned, global, group-and-run, proportional.",
        ),
        (
            "scheduler:\n  allocation:\n    aggressive: true\n",
            "freshtide.yml:2: 'scheduler.allocation.name' is missing. "
            "Known: edf-partitioned, global, group-and-run, proportional.",
        ),
        (
            "scheduler:\n  allocation:\n    name: edf-partitioned\n    k: 2\n",
            "freshtide.yml:4: There is no setting 'scheduler.allocation.k'. Known: aggressive, name.",
        ),
        (
            "scheduler:\n  allocation:\n    name: proportional\n    tracks: none\n",
            "freshtide.yml:4: 'none' is not all or basic. Known: all, basic.",
        ),
        (
            "scheduler:\n  allocation:\n    name: proportional\n    measure: periods\n",
            "freshtide.yml:4: 'periods' is not a measure of similarity. Did you mean 'period'? "
            "Known: execution, period.",
        ),
        (
            "scheduler:\n  allocation:\n    name: proportional\n    k: 0\n",
            "freshtide.yml:4: 'scheduler.allocation.k' must be more than 0, not '0'.",
        ),
        (
            "scheduler:\n  allocation: {name: proportional, aggressive: 1}\n",
            "freshtide.yml:2: 'scheduler.allocation.aggressive' must be true or false, not '1'.",
        ),
        (
            "scheduler:\n  inheritance: most\n",
            "freshtide.yml:2: 'most' is not an inheritance. Known: max, none, sum, {max-plus: 2}.",
        ),
        (
            "scheduler:\n  inheritance: max-plus\n",
            "freshtide.yml:2: The inheritance max-plus needs its factor. Write it like {max-plus: 2}.",
        ),
        (
            "scheduler:\n  inheritance: {max-plus: much}\n",
            "freshtide.yml:2: An inheritance with a parameter is max-plus. Write it like {max-plus: 2}.",
        ),
        (
            "scheduler:\n  inheritance: {max-plus: 0.5}\n",
            "freshtide.yml:2: The factor of max-plus must be a number from 1 to 100, not '0.5'. "
            "Write it like {max-plus: 2}.",
        ),
        (
            "scheduler:\n  chopping: 0.5\n",
            "freshtide.yml:2: '0.5' does not say how many periods an update may load. "
            "Write a number of at least 1, slack, or none.",
        ),
        ("scheduler:\n  repartition: 0.9\n", "freshtide.yml:2: 'scheduler.repartition' must be at least 1, not '0.9'."),
        (
            "scheduler:\n  repartition: .nan\n",
            "freshtide.yml:2: 'scheduler.repartition' must be a finite number, not 'nan'.",
        ),
        ("scheduler:\n  seed: lucky\n", "freshtide.yml:2: 'scheduler.seed' must be a whole number, not 'lucky'."),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_is_allowed(text: str, problem: str) -> None:
    with pytest.raises(ProjectError) as caught:
        policy(text)
    assert [str(found) for found in caught.value.problems] == [problem]


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ProjectError) as caught:
        policy("tracks: 0\nscheduler: {ordering: fifi, allocation: globl, chopping: 0}\n")
    assert len(caught.value.problems) == 4


def test_python_takes_the_same_words() -> None:
    written = {"ordering": "edf", "allocation": {"name": "proportional", "k": 2}, "chopping": None}
    expected = Policy(ordering="edf", allocation=Proportional(k=2.0), chopping=None)
    assert settings_from({"scheduler": written}).policy == expected


def test_a_warehouse_in_python_refuses_a_scheduler_that_does_not_exist() -> None:
    with pytest.raises(ProjectError, match="Did you mean 'lookahead'"):
        Warehouse("shop", scheduler="look-ahead")
