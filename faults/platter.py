"""What lies on a simulated disk: files and folders, what of them is durable, and what a power cut makes of the rest.

Bytes become durable by a sync of their file, names by a sync of their folder, and by nothing else. This is ext4 in its
worst reading. What was not synced is lost, torn or kept, each file and each name by itself. Two things hold all the
same, as they do for every journaling file system: a rename is done as a whole or not at all, and what was done to one
name later is not there without what was done to it before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random

Clock = Callable[[], float]


@dataclass(slots=True, eq=False)
class File:
    number: int
    modified_ns: int
    changed_ns: int
    content: bytes | bytearray = b""
    durable: bytes = b""
    is_rewritten: bool = False
    """Whether it was emptied and written anew since the last sync: then nothing of what was durable is sure to be."""

    def after_power_cut(self, rng: Random) -> bytes:
        """The content that is found: that of the last sync, that of now, or something on the way."""
        now = bytes(self.content)
        if now == self.durable:
            return now
        reached = rng.choice((0, len(now), rng.randint(0, len(now))))
        if self.is_rewritten:
            return now[:reached] if reached else rng.choice((b"", self.durable))
        return now if reached == len(now) else now[:reached] + self.durable[reached:]


@dataclass(slots=True, eq=False)
class Folder:
    number: int
    modified_ns: int
    changed_ns: int
    names: dict[str, Node] = field(default_factory=dict)
    durable: dict[str, Node] = field(default_factory=dict)
    unsynced: dict[int, Renaming] = field(default_factory=dict)
    """What was done to its names since, by the order of time."""


Node = File | Folder


@dataclass(frozen=True, slots=True)
class Renaming:
    """Names that were given or taken, all at once."""

    order: int
    names: tuple[tuple[Folder, str, Node | None], ...]

    @property
    def places(self) -> frozenset[tuple[int, str]]:
        return frozenset((folder.number, name) for folder, name, _ in self.names)


class Platter:
    """All files and folders of a machine, from the root down."""

    def __init__(
        self,
        clock: Clock | None = None,
        spend: Callable[[], None] = lambda: None,
        tell: Callable[[str, str], None] = lambda _what, _about: None,
    ) -> None:
        """`clock` tells the times that files bear, in seconds; without it each question moves it by a millisecond.

        `spend` lets the time of a call pass, and `tell` hears what is done to the disk.
        """
        self.spend = spend
        self.tell = tell
        self._numbers = count(2)
        self._orders = count()
        self.clock = clock or _ticking()
        self.is_on = True
        """Whether the machine has power: without, nobody is answered."""
        self.root = Folder(1, self.now_ns(), self.now_ns())
        self.folders: dict[str, Folder] = {}
        """By path those that were asked for, as long as no folder loses a name."""

    def now_ns(self) -> int:
        return int(self.clock() * 1e9)

    def new_file(self) -> File:
        now = self.now_ns()
        return File(next(self._numbers), now, now)

    def new_folder(self) -> Folder:
        now = self.now_ns()
        return Folder(next(self._numbers), now, now)

    def rename(self, *names: tuple[Folder, str, Node | None]) -> None:
        """Give or take names, at once; None: the name leads nowhere."""
        renaming = Renaming(next(self._orders), names)
        now = self.now_ns()
        for folder, name, node in names:
            if isinstance(folder.names.get(name), Folder):
                self.folders.clear()
            if node is None:
                del folder.names[name]
            else:
                folder.names[name] = node
                node.changed_ns = now
            folder.modified_ns = folder.changed_ns = now
            folder.unsynced[renaming.order] = renaming

    def sync(self, node: Node) -> None:
        if isinstance(node, File):
            node.durable, node.is_rewritten = bytes(node.content), False
            return
        for renaming in list(node.unsynced.values()):
            self._make_durable(renaming)

    def _make_durable(self, renaming: Renaming) -> None:
        """For good, after what was done to the same names before."""
        if renaming.order not in renaming.names[0][0].unsynced:
            return  # It has become so together with another.
        if len(renaming.names) > 1:
            for folder, _, _ in renaming.names:
                for earlier in list(folder.unsynced.values()):
                    if earlier.order < renaming.order and earlier.places & renaming.places:
                        self._make_durable(earlier)
        _put(renaming, lambda folder: folder.durable)
        for folder, _, _ in renaming.names:
            folder.unsynced.pop(renaming.order, None)

    def after_power_cut(self, rng: Random) -> Platter:
        """What the next process would find if the power went now."""
        found = Platter(self.clock, self.spend, self.tell)
        names = {folder.number: dict(folder.durable) for folder in self._folders()}
        for renaming in _surviving(sorted(self._unsynced().items()), rng):
            _put(renaming, lambda folder: names[folder.number])
        copies: dict[int, Node] = {}

        def copied(node: Node) -> Node:
            if node.number in copies:
                return copies[node.number]
            number = next(found._numbers)
            copy: Node
            if isinstance(node, File):
                content = node.after_power_cut(rng)
                copy = File(number, node.modified_ns, node.changed_ns, content, content)
                copies[node.number] = copy
            else:
                copy = Folder(number, node.modified_ns, node.changed_ns)
                copies[node.number] = copy
                copy.names = {name: copied(inner) for name, inner in names[node.number].items()}
                copy.durable = dict(copy.names)
            return copy

        root = copied(self.root)
        assert isinstance(root, Folder)
        found.root = root
        return found

    def _folders(self) -> Iterator[Folder]:
        """All that can be reached by names of now, by durable ones, or by those that may survive."""
        seen: set[int] = set()
        waiting: list[Folder] = [self.root]
        while waiting:
            folder = waiting.pop()
            if folder.number in seen:
                continue
            seen.add(folder.number)
            yield folder
            waiting += [node for node in folder.names.values() if isinstance(node, Folder)]
            waiting += [node for node in folder.durable.values() if isinstance(node, Folder)]
            for renaming in folder.unsynced.values():
                waiting += [place for place, _, _ in renaming.names]
                waiting += [node for _, _, node in renaming.names if isinstance(node, Folder)]

    def _unsynced(self) -> dict[int, Renaming]:
        return {order: renaming for folder in self._folders() for order, renaming in folder.unsynced.items()}


def _surviving(unsynced: list[tuple[int, Renaming]], rng: Random) -> Iterator[Renaming]:
    """Which renamings a power cut leaves: each may be, after those of the same names before."""
    chance = rng.choice((0.0, 0.5, 1.0, rng.random()))
    lost: set[tuple[int, str]] = set()
    for _, renaming in unsynced:
        if rng.random() < chance and not renaming.places & lost:
            yield renaming
        else:
            lost |= renaming.places


def _put(renaming: Renaming, names_of: Callable[[Folder], dict[str, Node]]) -> None:
    for folder, name, node in renaming.names:
        if node is None:
            names_of(folder).pop(name, None)
        else:
            names_of(folder)[name] = node


def _ticking() -> Clock:
    ticks = count(1_700_000_000_000)
    return lambda: next(ticks) / 1_000
