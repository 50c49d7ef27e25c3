"""Journals of joint commits, where more than one process has written them."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshtide.core.errors import LeaseLostError
from freshtide.storage import Change, Store, TableCommit, commit_together, finish_interrupted, is_unfinished
from freshtide.storage.journal import UnfinishedFlowError, journal_folder, write_journal
from freshtide.world import make_folder
from tests.storage.tablebench import AT, commit, rows, update, values


class _Grant:
    """The right to write, as one process has it."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.is_lost = False

    def require(self) -> None:
        if self.is_lost:
            raise LeaseLostError("It has been lost.")


def test_a_journal_of_one_who_slept_while_others_went_on_is_thrown_away(tmp_path: Path) -> None:
    sleeper, successor = _store(tmp_path, 1), _store(tmp_path, 2)
    prepared = [_prepared(sleeper, name, number=1) for name in ("rejects", "table")]
    commit(successor.table("table"), 1, rows(7))
    folder = journal_folder(tmp_path / "flows", "flow", sleeper)
    make_folder(sleeper.disk, folder)
    write_journal(sleeper.disk, folder, prepared)
    later = _store(tmp_path, 3)
    finish_interrupted([folder], later)
    assert not folder.exists()
    assert later.table("rejects").snapshot is None
    assert values(later.root / "table") == [7]


def test_what_has_landed_in_part_is_never_thrown_away(tmp_path: Path) -> None:
    store = _store(tmp_path, 1)
    prepared = [_prepared(store, name, number=1) for name in ("rejects", "table")]
    prepared[0].carry_out(store)
    commit(store.table("table"), 1, rows(7))
    folder = journal_folder(tmp_path / "flows", "flow", store)
    make_folder(store.disk, folder)
    write_journal(store.disk, folder, prepared)
    with pytest.raises(UnfinishedFlowError, match="'flow' are committed in part"):
        finish_interrupted([folder], _store(tmp_path, 2))
    assert is_unfinished(folder, store)


def test_nobody_without_the_right_to_write_decides_on_anything(tmp_path: Path) -> None:
    grant = _Grant(1)
    store = _store(tmp_path, 1)
    store.authority = grant
    folder = journal_folder(tmp_path / "flows", "flow", store)
    make_folder(store.disk, folder)
    prepared = _prepared(store, "table", number=1)
    grant.is_lost = True
    with pytest.raises(LeaseLostError):
        commit_together(folder, [prepared], store)
    assert not is_unfinished(folder, store)


def test_each_right_to_write_has_a_folder_of_its_own(tmp_path: Path) -> None:
    folders = {journal_folder(tmp_path, "flow", _store(tmp_path, epoch)) for epoch in (0, 1, 2)}
    assert len(folders) == 3


def _store(folder: Path, epoch: int) -> Store:
    store = Store(folder / "tables", time_columns={"rejects": "time", "table": "time"})
    store.authority = _Grant(epoch)
    return store


def _prepared(store: Store, name: str, *, number: int) -> TableCommit:
    content = rows(number)
    files = tuple(store.table(name).write(content, number=number))
    return TableCommit(table=name, change=Change(record=update(number), at=AT, schema=content.schema, add=files))
