from __future__ import annotations

from freshtide.core.graph import TableGraph
from freshtide.core.units import UpdateUnits

from .declared import base, view


def network() -> UpdateUnits:
    return TableGraph(
        [
            base("cpu"),
            base("mem"),
            view("busy", "cpu", "mem", update_group="loads"),
            view("idle", "mem", "cpu", update_group="loads"),
            view("top", "busy"),
            view("all", "busy", "idle", "cpu"),
        ]
    ).units


def test_a_group_is_one_unit_and_a_table_by_itself_another() -> None:
    assert dict(network()) == {
        "cpu": ("cpu",),
        "mem": ("mem",),
        "loads": ("busy", "idle"),
        "top": ("top",),
        "all": ("all",),
    }
    assert network().is_group("loads")
    assert not network().is_group("top")


def test_what_depends_on_a_table_of_a_group_depends_on_the_group() -> None:
    units = network()
    assert units.sources("top") == ("loads",)
    assert units.sources("all") == ("loads", "cpu")
    assert units.sources("loads") == ("cpu", "mem")
    assert units.sources("cpu") == ()


def test_tables_know_their_unit_and_their_company() -> None:
    units = network()
    assert (units.of("idle"), units.of("top")) == ("loads", "top")
    assert units.beside("idle") == ("busy",)
    assert units.beside("top") == ()
    assert units.of_all(["idle", "top", "busy"]) == ("loads", "top")
