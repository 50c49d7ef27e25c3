"""What must hold, whatever has happened: asked after each commit, from the files that the producer has landed alone.

It follows the logs of all tables by itself. A commit of a base table leaves each row of the files that it names once,
in the table or beside it. A commit of a view leaves what its query gives over the source that it names, up to its
freshness. No freshness goes back. What is booked has landed, also after a power cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults.content import decoded
from faults.disk import SimulatedDisk
from faults.followed import FollowedTable, WrongError, said_by
from faults.producer import Content, Producer
from faults.tables import BASES, VIEWS, Row, View, project
from freshtide.runs import Places
from freshtide.storage import UpdateKind
from freshtide.world import StrPath

Rows = Counter[tuple[Any, ...]]
_TABLES = Places(project()).tables


@dataclass(slots=True)
class Oracle:
    """Looks at the tables of a world through all lives of its processes."""

    producer: Producer
    disk: SimulatedDisk
    """As a process of its own sees it, which nothing happens to."""
    tables: dict[str, FollowedTable] = field(default_factory=dict)
    wrong: WrongError | None = None
    _contents: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """By table and path what was in all files that were ever committed."""

    def table(self, name: str) -> FollowedTable:
        if name not in self.tables:
            self.tables[name] = FollowedTable(name)
        return self.tables[name]

    def named(self, path: str) -> str | None:
        """Something has got its name, which may be that of a commit: then what that is, in words."""
        log, _, entry = path.rpartition("/")
        if not log.endswith("/_delta_log") or not entry.endswith(".json"):
            return None
        name, version = Path(log).parent.name, int(entry.removesuffix(".json"))
        content = self.disk.read(path)
        with self._keeping():
            self._committed(name, version, content)
        said = said_by(content)
        return f"{name} version {version}: {'torn' if said is None else said}"

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        """Keep the first thing that is wrong: who is told is in the midst of something, and has not asked."""
        try:
            yield
        except WrongError as error:
            self.wrong = self.wrong or error

    def _committed(self, name: str, version: int, entry: bytes) -> None:
        table = self.table(name)
        if version != table.version + 1:
            raise WrongError(f"Version {version} of {name} was made when it was at version {table.version}.")
        before, known = table.freshness, table.number
        said = table.follow(entry, self._added(name, entry))
        if not said.is_update or name not in (*BASES, *VIEWS):
            return  # What is beside a table counts once the table says so.
        for base in BASES:
            self._finished(base, epoch=said.about["writer"][0])
        # A base table that is computed anew may have lost its newest rows: other content was accepted for their file.
        may_go_back = name in BASES and said.about["kind"] == UpdateKind.REBUILD
        if before is not None and not may_go_back and (table.freshness is None or table.freshness < before):
            raise WrongError(f"{name} was fresh up to {before}, and is up to {table.freshness}.")
        if name in BASES:
            self._base(name)
            for view in VIEWS:
                self._overtaken(view, name, known)
        else:
            self._view(table, VIEWS[name], number=said.about["sources"][VIEWS[name].source])

    def _added(self, name: str, entry: bytes) -> dict[str, bytes]:
        said = said_by(entry)
        added = {}
        for path in said.adds if said else ():
            try:
                added[path] = self.disk.read(_TABLES / name / path)
            except FileNotFoundError:
                raise WrongError(f"A commit of {name} adds {path}, which is not there.") from None
        self._contents.update(((name, path), content) for path, content in added.items())
        return added

    def _base(self, name: str) -> None:
        """Each row of the files that were loaded is once in the table, or in what is beside it."""
        beside = [f"{name}__rejects", f"{name}__late"]
        ahead = [side for side in beside if self.table(side).number > self.table(name).number]
        if ahead:
            raise WrongError(f"{ahead[0]} has come further than its table.")
        found = Counter[Any](values[0] for values in self.table(beside[0]).rows.elements())
        others = (name, beside[1], BASES[name].beside)
        found.update(row for other in others if other is not None for row in self.table(other).rows.elements())
        wanted = Counter(self._wanted(name))
        if found != wanted:
            more, less = list((found - wanted).elements())[:3], list((wanted - found).elements())[:3]
            raise WrongError(f"{name} and what is beside it have {more} too much and {less} too little.")

    def _finished(self, base: str, *, epoch: int) -> None:
        """What a former process has committed of the targets of a flow is finished by the next one, before all else."""
        other = None if (name := BASES[base].beside) is None else self.table(name)
        if other is None or not other.last or other.last["writer"][0] >= epoch:
            return
        if other.last["sources"][base] > self.table(base).number:
            raise WrongError(
                f"{other.name} has rows of an update of {base} that has not landed, and a new run goes on."
            )

    def _wanted(self, name: str) -> Iterator[Any]:
        """The rows that a table is to keep of the files that it says it has loaded, and lines that are no rows."""
        keeps = BASES[name].keeps
        for path, digest in self.table(name).arrivals.items():
            content = self._landed(name, path, digest)
            yield from (tuple(row) for row in content.rows if keeps(row))
            yield from content.bad

    def _landed(self, name: str, path: str, digest: str) -> Content:
        file = self.producer.by_path.get(path)
        content = None if file is None else file.contents.get(digest)
        if content is None:
            raise WrongError(f"{name} says that it has loaded {path} with content that nobody has landed.")
        return content

    def _overtaken(self, view: str, source: str, known: int) -> None:
        """What a view has used of its source stays, unless the source says that it was revised."""
        followed, table = self.table(view), self.table(source)
        if VIEWS[view].source != source or followed.freshness is None:
            return
        before = table.states.get(known, Counter())
        changed = (table.rows - before) + (before - table.rows)
        earliest = min((row[1] for row in changed if row[1] <= followed.freshness), default=None)
        revised = table.last["revised_from"]
        if earliest is not None and (revised is None or revised > earliest):
            raise WrongError(f"{source} has changed at {earliest}, which {view} has used, and does not say so.")

    def _view(self, table: FollowedTable, view: View, *, number: int) -> None:
        source = self.table(view.source)
        if number not in source.states:
            raise WrongError(f"{table.name} was computed from update {number} of {source.name}, which there is not.")
        self._require_query(table, view, source.states[number])

    def _require_query(self, table: FollowedTable, view: View, source: Rows) -> None:
        wanted, found = self._computed(table, view, source), sorted(table.rows.elements())
        if found != wanted:
            raise WrongError(f"{table.name} at {table.freshness} has {found[:5]} …, its query gives {wanted[:5]} ….")

    def _computed(self, table: FollowedTable, view: View, source: Rows) -> list[tuple[Any, ...]]:
        assert table.freshness is not None, "a view that was committed has a freshness"
        return view.query([Row(*row) for row in source.elements() if row[1] <= table.freshness])

    # After a power cut.

    def reopen(self, disk: SimulatedDisk) -> list[str]:
        """Go on from what is there after a power cut; what of the logs is not. Torn at the end, it was no promise."""
        self.disk = disk
        before = {name: table.version for name, table in self.tables.items()}
        with self._keeping():
            for name, table in list(self.tables.items()):
                entries = list(self._whole_entries(name))
                if entries != table.entries:
                    self.tables[name] = self._replayed(name, entries)
                self._require_files(self.tables[name])
        now = {name: table.version for name, table in self.tables.items()}
        return [f"{name} versions {now[name] + 1} to {was}" for name, was in before.items() if now[name] < was]

    def _whole_entries(self, name: str) -> Iterator[bytes]:
        log = _TABLES / name / "_delta_log"
        if not self.disk.exists(log):
            return
        entries = [self.disk.read(log / entry) for entry in sorted(self.disk.names(log)) if _is_entry(entry)]
        while entries and said_by(entries[-1]) is None:
            entries.pop()
        for version, entry in enumerate(entries):
            if said_by(entry) is None:
                raise WrongError(f"Version {version} of {name} is torn, and later ones are there.")
            yield entry

    def _replayed(self, name: str, entries: Iterable[bytes]) -> FollowedTable:
        table = FollowedTable(name)
        for entry in entries:
            said = said_by(entry)
            assert said is not None, "only whole ones are replayed"
            table.follow(entry, {path: self._contents[name, path] for path in said.adds})
        return table

    def _require_files(self, table: FollowedTable) -> None:
        for path, content in table.files.items():
            place = _TABLES / table.name / path
            if not self.disk.exists(place) or self.disk.read(place) != content:
                raise WrongError(f"{path} of {table.name} was lost or torn by a power cut.")

    # Between commits, and in the end.

    def require_landed(self, numbers: dict[str, int], loads: set[tuple[str, str, str]]) -> None:
        """What is booked is in the logs: updates by table, and files as (table, path, digest)."""
        for name, number in numbers.items():
            if number > self.table(name).number:
                raise WrongError(f"Update {number} of {name} is booked, and the table is at {self.table(name).number}.")
        for name, path, _ in loads:
            # With which content, only the catalog of the last run can know: others may have had another accepted.
            if path not in self.table(name).arrivals:
                raise WrongError(f"{path} is booked as loaded into {name}, and no commit says so.")

    def missing(self, name: str) -> list[str]:
        """The files that a base table has not loaded."""
        feed, arrivals = BASES[name].feed, self.table(name).arrivals
        return [file.path for file in self.producer.files if file.feed == feed and file.path not in arrivals]

    def could_be_fresher(self, view: str) -> bool:
        """Whether a view has not come along with its source."""
        freshness, safe = self.table(view).freshness, self.table(VIEWS[view].source).last.get("safe")
        return safe is not None and (freshness is None or freshness < safe)

    def waits_for(self, loads: set[tuple[str, str, str]]) -> str | None:
        """What is not done yet; None once all that has landed is loaded and booked, and all views have come along."""
        for name in BASES:
            table = self.table(name)
            missing = self.missing(name)
            if missing:
                return f"{name} has not loaded {missing[0]}"
            unbooked = [path for path, digest in table.arrivals.items() if (name, path, digest) not in loads]
            if unbooked:
                return f"{unbooked[0]} of {name} is not booked"
        for name, view in VIEWS.items():
            table, source = self.table(name), self.table(view.source)
            safe = source.last.get("safe")
            if self.could_be_fresher(name):
                return f"{name} is fresh up to {table.freshness}, and could be up to {safe}"
            if safe is not None and sorted(table.rows.elements()) != self._computed(table, view, source.rows):
                return f"{name} has not seen that {view.source} was revised"
        return None

    def require_same(self, name: str, files: Iterable[StrPath]) -> None:
        """The real reader of tables finds what was followed here."""
        found = Counter(values for path in files for values in decoded(self.disk.read(path)))
        if found != self.table(name).rows:
            raise WrongError(f"{name} is read as something else than its log says.")


def _is_entry(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")
