"""Each promise of docs/guarantees.md has a guard that can be taken out, and what a trial finds is told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from guards.mutants import Edit, MutationError, guards, require_programs, unguarded
from guards.promises import PAGE, promises, unknown_tests
from guards.trials import failure_in


def test_every_promise_has_a_guard() -> None:
    assert len(promises(PAGE.read_text(encoding="utf-8"))) > 70
    assert unguarded() == []


def test_every_guard_is_where_its_mutation_looks_for_it_and_the_mutants_are_programs(tmp_path: Path) -> None:
    mutants, misplaced = [], []
    for number, guard in enumerate(guards()):
        try:
            texts = guard.mutants()
        except MutationError as error:
            misplaced.append(f"{guard.because}: {error}")
            continue
        for place, text in enumerate(texts.values()):
            mutants.append(tmp_path / f"{number}_{place}.py")
            mutants[-1].write_text(text, encoding="utf-8")
    assert misplaced == [], "guards/mutations has to go with the lines that it takes out"
    require_programs(mutants)


def test_the_tests_that_guards_name_exist() -> None:
    assert unknown_tests(test for guard in guards() for test in guard.tests) == []


def test_an_edit_fits_once_or_is_none() -> None:
    edit = Edit(file="x.py", old="fsync()", new="pass")
    assert edit.applied("write()\nfsync()\n") == "write()\npass\n"
    for text in ("write()\n", "fsync()\nfsync()\n"):
        with pytest.raises(MutationError, match=r"x\.py has this [02] times"):
            edit.applied(text)


def test_a_mutant_that_is_no_program_is_an_error(tmp_path: Path) -> None:
    for text in ("def f(:\n", "def f() -> int:\n    return forgotten\n"):
        (tmp_path / "mutant.py").write_text(text)
        with pytest.raises(MutationError, match="no program"):
            require_programs([tmp_path / "mutant.py"])


def report(folder: Path, case: str) -> Path:
    path = folder / "report.xml"
    path.write_text(f'<testsuites><testsuite><testcase name="test_it">{case}</testcase></testsuite></testsuites>')
    return path


def test_only_the_failure_of_a_test_finds_a_guard(tmp_path: Path) -> None:
    assert failure_in(report(tmp_path, "")) is None
    failed = report(tmp_path, '<failure message="AssertionError: assert 1 == 2">trace</failure>')
    assert failure_in(failed) == ("test_it", "AssertionError: assert 1 == 2")


@pytest.mark.parametrize(
    "case",
    [
        '<error message="failed on setup">trace</error>',
        '<failure message="ImportError: no such name">trace</failure>',
        '<failure message="NameError: name x is not defined">trace</failure>',
        '<failure message="Failed: Timeout (&gt;240.0s) from pytest-timeout.">trace</failure>',
        "<skipped/>",
    ],
)
def test_what_says_nothing_about_a_guard_is_an_error(tmp_path: Path, case: str) -> None:
    with pytest.raises(MutationError):
        failure_in(report(tmp_path, case))
