"""Files of a project that somebody edits."""

from __future__ import annotations

from pathlib import Path

from freshtide.project import create_starter
from freshtide.runtime.projectwatch import ProjectWatch


def test_a_state_of_the_files_is_told_once_it_has_lasted_for_a_moment(tmp_path: Path) -> None:
    now = 100.0
    create_starter(tmp_path / "shop", "shop")
    root = tmp_path / "shop"
    watch = ProjectWatch(root, clock=lambda: now)

    def told(after: float) -> bool:
        nonlocal now
        now += after
        return watch.has_changed()

    assert [told(0.6), told(0.6), told(0.6)] == [False, True, False], "they may have been edited before it began"
    (root / "tables" / "more.sql").write_text("CREATE")
    assert not told(0.6)
    (root / "tables" / "more.sql").write_text("CREATE MATERIALIZED VIEW")
    assert [told(0.6), told(0.6), told(0.6), told(0.6)] == [False, False, True, False]
    (root / "tables" / "more.sql").unlink()
    assert [told(0.6), told(0.1), told(0.5), told(0.6), told(5.0)] == [False, False, False, True, False]
    # What arrives, and what Freshtide writes, is no part of it.
    (root / "landing" / "orders" / "new.csv").write_text("x")
    (root / "warehouse").mkdir()
    assert [told(0.6), told(2.0)] == [False, False]
    watch.look_again()
    assert [told(0.6), told(0.6)] == [True, False]
