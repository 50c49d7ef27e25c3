"""Seeds: files beside a project that are tables."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.project.seeds.folder import LARGEST
from freshtide.project.seeds.types import inferred_type

from .folder import ProjectFolder


def types_of(folder: ProjectFolder, seed: str = "sites") -> dict[str, str]:
    project = folder.load()
    feed = project.graph[seed].feed
    assert feed is not None
    return {column.name: column.type for column in project.feeds[feed].schema}


def test_a_seed_is_a_reference_table_whose_types_are_found_in_it(cpu: ProjectFolder) -> None:
    cpu.write(
        "seeds/sites.csv",
        """\
        router,zip,ports,load,since,seen,open,note
        r1,01234,24,0.5,2020-01-31,2026-01-01T00:00:00Z,true,
        r2,99999,-48,1e3,2021-02-28,2026-01-02 10:00:00,FALSE,"two, or
        three"
        """,
    )
    cpu.write(
        "tables/view.sql",
        "CREATE MATERIALIZED VIEW placed AS SELECT c.time, s.zip FROM cpu c JOIN sites s ON c.router = s.router;",
    )
    project = cpu.load()
    assert types_of(cpu) == {
        "router": "string",
        "zip": "string",
        "ports": "bigint",
        "load": "double",
        "since": "date",
        "seen": "timestamp",
        "open": "boolean",
        "note": "string",
    }
    assert (project.graph["sites"].is_reference, project.graph["placed"].maintain) == (True, "append")
    assert project.notes == ()


def test_types_can_be_said_beside_a_seed(cpu: ProjectFolder) -> None:
    cpu.write("seeds/sites.csv", "router;ports\n1;24\n")
    cpu.write("seeds/sites.yml", "delimiter: ';'\nschema: {router: string}\ncomment: where routers are\n")
    assert types_of(cpu) == {"router": "string", "ports": "bigint"}
    assert cpu.load().graph["sites"].comment == "where routers are"


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (
            {"seeds/sites.csv": ""},
            "seeds/sites.csv:1: The seed is empty. Write a line with the names of the columns first.",
        ),
        (
            {"seeds/sites.csv": "a,b\n1,2,3\n"},
            "seeds/sites.csv:1: Row 2 of the seed has 3 values, and its header 2. Mend the row: a value with a comma "
            "in it stands in quotes.",
        ),
        (
            {"seeds/sites.csv": 'a,b\n"1,2\n'},
            "seeds/sites.csv:1: The seed is not CSV: unexpected end of data. Mend its quotes.",
        ),
        (
            {"seeds/sites.csv": "a,a\n1,2\n"},
            "seeds/sites.csv:1: The header of the seed names a column twice. Name each column once.",
        ),
        (
            {"seeds/2024.csv": "a\n1\n"},
            "seeds/2024.csv:1: '2024' cannot be a name. Names are letters, digits and underscores, and begin with a "
            "letter.",
        ),
        (
            {"seeds/cpu.csv": "a\n1\n"},
            "seeds/cpu.csv:1: The streaming table 'cpu' has the name of the streaming table 'cpu' in tables/cpu.sql:1. "
            "Rename one of them.",
        ),
        (
            {"seeds/sites.csv": "a\n1\n", "seeds/sites.yml": "schema: {b: string}\n"},
            "seeds/sites.csv:1: sites.yml gives a type to 'b', which is no column of the seed. Known: a.",
        ),
        (
            {"seeds/sites.csv": "a\n1\n", "seeds/sites.yml": "schema: {a: words}\n"},
            "seeds/sites.yml:1: 'words' is not a Spark type (column 'a'). Types are like string, int, bigint, double, "
            "decimal(10,2), boolean, date, timestamp, array<int>.",
        ),
        (
            {"seeds/sites.csv": "a\n1\n", "seeds/sites.yml": "separator: ';'\n"},
            "seeds/sites.yml:1: There is no setting 'separator'. Known: comment, delimiter, null_value, schema.",
        ),
        (
            {"seeds/sites.yml": "delimiter: ';'\n"},
            "seeds/sites.yml:1: There is no seed 'sites.csv' beside this file. Put the rows beside it, or delete it.",
        ),
        (
            {"seeds/sites.csv": "a\n" + "x" * LARGEST},
            "seeds/sites.csv:1: The seed holds 8.0 MB, and 8 MB are the most: it is read whenever the project is. Move "
            "it to a folder of its own and declare a feed for it, with `content: newest` and no time_column.",
        ),
    ],
)
def test_a_mistake_is_told_with_the_way_out(cpu: ProjectFolder, files: dict[str, str], problem: str) -> None:
    for name, text in files.items():
        cpu.write(name, text)
    assert cpu.problem() == problem


def test_a_seed_that_is_no_utf_8_is_told(cpu: ProjectFolder) -> None:
    cpu.write("seeds/sites.csv", "").write_bytes(b"a\n\xff\n")
    assert "is not UTF-8 text" in cpu.problem()


VALUES = {
    "boolean": st.sampled_from(["true", "False", "TRUE"]),
    "bigint": st.integers(-(10**17), 10**17).map(str),
    "double": st.decimals(-1000, 1000, places=3).map(str),
    "date": st.dates(date(1900, 1, 1)).map(str),
    "timestamp": st.datetimes(datetime(1900, 1, 1)).map(
        lambda at: (at - timedelta(microseconds=at.microsecond)).isoformat()
    ),
}


@given(data=st.data(), type_=st.sampled_from(list(VALUES)), odd=st.booleans())
def test_a_column_has_the_type_that_all_of_its_values_have(data: st.DataObject, type_: str, odd: bool) -> None:
    values = data.draw(st.lists(VALUES[type_] | st.just(""), min_size=1))
    expected = type_ if any(values) else "string"
    assert inferred_type(values) == expected
    if odd and any(values):
        assert inferred_type([*values, "somewhere"]) == "string"
