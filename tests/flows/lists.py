"""A worker whose rows are pairs of a key and a value in Python lists, and the same flows computed without packs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from freshtide.flows import Activity, FlowGraph, Node, Outputs, Pack
from freshtide.flows.activities import (
    OTHERWISE,
    OUT,
    QUARANTINE,
    Aggregate,
    Difference,
    Filter,
    Function,
    Join,
    NotNull,
    Read,
    Router,
    Sort,
    Union,
    Write,
)

Row = tuple[int, int | None]
CONDITIONS: Mapping[str, Callable[[Row], bool]] = {
    "key < 2": lambda row: row[0] < 2,
    "key >= 2": lambda row: row[0] >= 2,
    "key = 3": lambda row: row[0] == 3,
}


def evaluate(activity: Activity, inputs: Sequence[Sequence[Row]]) -> Mapping[str, list[Row]]:
    """What comes out of an activity for all its input, by output."""
    match activity:
        case Join():
            return {OUT: _joined(activity, inputs[0], inputs[1])}
        case Difference():
            keys = {row[0] for row in inputs[1]}
            return {OUT: [row for row in inputs[0] if row[0] not in keys]}
        case Union():
            return {OUT: [row for part in inputs for row in part]}
    return _of_one(activity, inputs[0])


def _of_one(activity: Activity, rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    match activity:
        case Filter():
            return {OUT: [row for row in rows if CONDITIONS[activity.condition](row)]}
        case NotNull():
            missing = [row for row in rows if row[1] is None]
            return {OUT: [row for row in rows if row[1] is not None], QUARANTINE: missing}
        case Function():
            return {OUT: list(activity.function(rows))}
        case Sort():
            return {OUT: sorted(rows, key=_order)}
        case Aggregate():
            return {OUT: sorted(Counter(row[0] for row in rows).items())}
        case Router():
            routed = {
                port: [row for row in rows if CONDITIONS[condition](row)] for port, condition in activity.routes.items()
            }
            sent = {row for part in routed.values() for row in part}
            return {**routed, OTHERWISE: [row for row in rows if row not in sent]}
    raise AssertionError(f"{activity.kind} is not computed on lists")


def evaluate_flow(graph: FlowGraph, sources: Mapping[str, Sequence[Row]]) -> dict[str, Counter[Row]]:
    """What each write of a flow writes, computed activity by activity on whole lists."""
    given: dict[str, Mapping[str, list[Row]]] = {name: {OUT: list(rows)} for name, rows in sources.items()}
    written: dict[str, Counter[Row]] = {}
    waiting = [node for node in graph if node.name not in given]
    while waiting:
        node = next(node for node in waiting if all(producer in given for producer, _ in node.inputs))
        waiting.remove(node)
        inputs = [given[producer][port] for producer, port in node.inputs]
        if isinstance(node.activity, Write):
            written[node.name] = Counter(inputs[0])
        given[node.name] = {} if isinstance(node.activity, Write) else evaluate(node.activity, inputs)
    return written


def _order(row: Row) -> tuple[int, bool, int]:
    return (row[0], row[1] is not None, row[1] or 0)


def _joined(join: Join, left: Sequence[Row], right: Sequence[Row]) -> list[Row]:
    if join.how == "inner":
        return [(one[0], other[1]) for one in left for other in right if one[0] == other[0]]
    keys = {row[0] for row in right}
    return [row for row in left if (row[0] in keys) == (join.how == "semi")]


@dataclass(slots=True, kw_only=True, eq=False)
class ListPack:
    """Rows, each of which takes a byte."""

    worker: ListWorker
    content: list[Row]
    on_disk: bool = False
    released: bool = False

    @property
    def rows(self) -> int:
        return len(self.content)

    @property
    def size(self) -> int:
        return 0 if self.on_disk or self.released else len(self.content)

    def spill(self) -> None:
        assert not self.released
        self.on_disk = True

    def release(self) -> None:
        assert not self.released, "a pack is released once"
        self.released = True
        self.worker.living.remove(self)


@dataclass(slots=True, kw_only=True)
class ListSupply:
    worker: ListWorker
    content: list[Row]

    @property
    def rows(self) -> int:
        return len(self.content)

    def take(self) -> ListPack | None:
        if not self.content:
            return None
        taken, self.content = self.content[: self.worker.pack_rows], self.content[self.worker.pack_rows :]
        return self.worker.pack(taken)


@dataclass(slots=True, kw_only=True)
class ListWorker:
    """Computes on lists, chops what comes out into packs, and looks at the memory while it works."""

    sources: Mapping[str, Sequence[Row]]
    pack_rows: int
    living: set[ListPack] = field(default_factory=set)
    written: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    kept: dict[tuple[str, int], list[Row]] = field(default_factory=lambda: defaultdict(list))
    most_in_memory: int = 0
    """When an activity began to work on a pack."""

    def pack(self, rows: list[Row]) -> ListPack:
        made = ListPack(worker=self, content=rows)
        self.living.add(made)
        return made

    def supply(self, node: Node) -> ListSupply:
        if isinstance(node.activity, Read):
            return ListSupply(worker=self, content=list(self.sources[node.name]))
        inputs = [self.kept[node.name, number] for number in range(len(node.inputs))]
        return ListSupply(worker=self, content=evaluate(node.activity, inputs)[OUT])

    def keep(self, node: Node, number: int, pack: Pack) -> None:
        self.kept[node.name, number] += self._content(pack)

    def process(self, node: Node, number: int, pack: Pack) -> Outputs:
        rows = self._content(pack)
        assert number not in node.activity.whole_inputs
        self.most_in_memory = max(self.most_in_memory, sum(each.size for each in self.living))
        if isinstance(node.activity, Write):
            self.written[node.name] += rows
            return {}
        inputs = [rows, self.kept[node.name, 1]] if isinstance(node.activity, Join) else [rows]
        return {port: self._chopped(found) for port, found in evaluate(node.activity, inputs).items()}

    def _chopped(self, rows: list[Row]) -> list[ListPack]:
        return [self.pack(rows[at : at + self.pack_rows]) for at in range(0, len(rows), self.pack_rows)]

    def _content(self, pack: Pack) -> list[Row]:
        assert isinstance(pack, ListPack), "a worker gets its own packs back"
        assert not pack.released
        return pack.content
