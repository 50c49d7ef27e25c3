from __future__ import annotations

from pathlib import Path

import pytest

from freshtide.core.errors import ProjectError
from freshtide.project.notation.yamlfile import parse_yaml, read_yaml


def broken(text: str) -> list[str]:
    with pytest.raises(ProjectError) as caught:
        parse_yaml(text, "f.yml")
    return [str(problem) for problem in caught.value.problems]


def test_every_key_and_item_knows_its_line() -> None:
    file = parse_yaml("a: 1\nb:\n  - x\n  - y: 2\n", "f.yml")
    assert file.value == {"a": 1, "b": ["x", {"y": 2}]}
    assert [file.origin(path).line for path in (("a",), ("b",), ("b", 0), ("b", 1, "y"))] == [1, 2, 3, 4]


def test_a_path_that_is_not_in_the_file_has_the_line_of_what_is_around_it() -> None:
    file = parse_yaml("a: 1\nb:\n  c: 2\n", "f.yml")
    assert str(file.origin(("b", "missing", 3))) == "f.yml:2"
    assert str(file.origin(("nothing",))) == "f.yml:1"


def test_keys_are_text_even_where_yaml_sees_booleans() -> None:
    assert parse_yaml("on: no\n1: x\n", "f.yml").value == {"on": False, "1": "x"}


def test_merged_mappings_keep_the_lines_of_what_they_were_merged_from() -> None:
    file = parse_yaml("a: &base\n  k: 1\nb:\n  <<: *base\n  j: 2\n", "f.yml")
    assert file.value["b"] == {"k": 1, "j": 2}
    assert file.origin(("b", "k")).line == 2


def test_an_empty_file_is_nothing() -> None:
    assert parse_yaml("# only a comment\n", "f.yml").value is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yml:3: 'a' is given twice, first in line 1. Keep one of them."),
        ("a: b: c\n", "f.yml:1: The YAML is broken: mapping values are not allowed here."),
        (
            "a: [1, 2\nb: 3\n",
            "f.yml:2: The YAML is broken: expected ',' or ']', but got ':'. "
            "This was while parsing a flow sequence that began in line 1.",
        ),
        ("x: &a [*a]\n", "f.yml:1: The YAML contains itself through an alias."),
        ("\n? [a]\n: 1\n", "f.yml:2: A key must be a plain word."),
        ("a: 1\nb: 2026-13-45\n", "f.yml:2: '2026-13-45' cannot be read: month must be in 1..12."),
    ],
)
def test_what_is_wrong_with_the_form_is_told_with_its_line(text: str, problem: str) -> None:
    assert broken(text) == [problem]


def test_characters_that_yaml_forbids_are_told_with_their_line() -> None:
    assert broken("a: 1\nb: \x01\n")[0].startswith("f.yml:2: The YAML holds a character that is not allowed")


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "f.yml").write_bytes(b"a: \xff\xfe\n")
    with pytest.raises(ProjectError, match=r"f\.yml:1: The file cannot be read"):
        read_yaml(tmp_path / "f.yml", tmp_path)
