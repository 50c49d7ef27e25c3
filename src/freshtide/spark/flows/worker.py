"""Activities carried out by Spark, pack by pack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from freshtide.flows import FlowGraph, Node, Outputs, Pack, Port
from freshtide.flows.activities import Join, Read, SlowlyChanging, SurrogateKey, Write
from freshtide.spark.flows.boundaries import StagedInput, StagedOutput
from freshtide.spark.flows.failures import naming
from freshtide.spark.flows.holding import CountedPack, FramePack, HeldFrame, Scratch, StagedFile, StagedSupply
from freshtide.spark.flows.surroundings import Surroundings
from freshtide.spark.flows.transforms import Frames, transform
from freshtide.spark.reading import empty_frame
from freshtide.spark.schemas import quoted


@dataclass(slots=True, kw_only=True)
class SparkWorker:
    """Carries out the activities of one flow, or of a subflow that was cut out of it.

    A pack is a DataFrame that Spark holds in memory; its rows are counted by the job that makes it. Sources, and what
    activities give that wait for all their input, are staged as Parquet files of at most `pack_rows` rows.
    """

    graph: FlowGraph
    surroundings: Surroundings
    pack_rows: int
    staged: Mapping[Port, DataFrame] = field(default_factory=dict)
    """What comes in from outside."""
    outputs: dict[Port, list[StagedFile]] = field(default_factory=dict)
    """What has been staged for others."""
    _kept: dict[tuple[str, int], list[StagedFile]] = field(default_factory=lambda: defaultdict(list))
    _whole: dict[tuple[str, int], HeldFrame] = field(default_factory=dict)
    """Complete inputs that packs of another input are put together with."""
    _packs: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))

    def supply(self, node: Node) -> StagedSupply:
        with naming(node.name, "the end of its input" if node.inputs else "its source"):
            match node.activity:
                case Read():
                    return self._staged(self.surroundings.recordsets.read(node.activity.source).frame)
                case StagedInput():
                    return self._staged(self.staged[node.activity.producer, node.activity.port])
                case SlowlyChanging():
                    self.surroundings.update_dimension(node, self._all_of(node, 0))
                    return StagedSupply(self._scratch, [], StructType())
            inputs = [self._all_of(node, number) for number in range(len(node.inputs))]
            (result,) = self._transform(node, inputs).values()
            return self._staged(result)

    def keep(self, node: Node, number: int, pack: Pack) -> None:
        with naming(node.name, self._place(node, number)):
            self._kept[node.name, number] += _frame_pack(pack).staged()

    def process(self, node: Node, number: int, pack: Pack) -> Outputs:
        frame = _frame_pack(pack).frame
        with naming(node.name, self._place(node, number)):
            match node.activity:
                case Write():
                    self.surroundings.targets[node.name].write(frame)
                    return {}
                case StagedOutput():
                    port = (node.activity.producer, node.activity.port)
                    self.outputs.setdefault(port, []).extend(self._scratch.stage(frame, "output"))
                    return {}
                case SurrogateKey():
                    keys = self.surroundings.lookup(node).assign(node.activity, frame)
                    results = self._transform(node, [frame], lookup=keys)
                case _:
                    results = self._transform(node, self._with_others(node, number, frame))
            return self._held(node, results, pack.rows)

    def release(self) -> None:
        for held in self._whole.values():
            held.release()

    @property
    def _scratch(self) -> Scratch:
        return self.surroundings.scratch

    def _transform(self, node: Node, inputs: Sequence[DataFrame], *, lookup: DataFrame | None = None) -> Frames:
        return transform(node, inputs, moment=self.surroundings.moment, lookup=lookup)

    def _staged(self, frame: DataFrame) -> StagedSupply:
        files = self._scratch.stage(frame, "packs", pack_rows=self.pack_rows)
        return StagedSupply(self._scratch, files, frame.schema)

    def _place(self, node: Node, number: int) -> str:
        self._packs[node.name, number] += 1
        of = f" of {node.edges[number].label}" if len(node.inputs) > 1 else ""
        return f"pack {self._packs[node.name, number]}{of}"

    def _held(self, node: Node, results: Mapping[str, DataFrame], rows_in: int) -> Outputs:
        """The packs that come out; what nobody takes is the rest of what came in."""
        taken = {port: frame for port, frame in results.items() if self.graph.consumers(node.name, port)}
        outputs: dict[str, Sequence[Pack]] = {}
        for port, frame in taken.items():
            held = HeldFrame(frame)
            outputs[port] = [FramePack(self._scratch, held)]
            if not held.rows:
                held.release()
                outputs[port] = []
        for port in node.activity.optional_ports:
            if port not in taken:
                rest = rows_in - sum(pack.rows for packs in outputs.values() for pack in packs)
                outputs[port] = [CountedPack(rows=rest)]
        return outputs

    def _with_others(self, node: Node, number: int, frame: DataFrame) -> list[DataFrame]:
        """The pack in its place, complete inputs beside it, and nothing where packs of another input come."""
        return [
            frame if place == number else self._beside(node, place, self._schema(node, place))
            for place in range(len(node.inputs))
        ]

    def _beside(self, node: Node, number: int, schema: StructType) -> DataFrame:
        if number not in node.activity.whole_inputs:
            return empty_frame(self._scratch.session, schema)
        if (node.name, number) not in self._whole:
            whole = self._all_of(node, number)
            if isinstance(node.activity, Join):
                # Divided by its key it need not be divided again for each pack.
                whole = whole.repartition(*map(quoted, node.activity.on))
            self._whole[node.name, number] = HeldFrame(whole)
        whole = self._whole[node.name, number].frame
        return whole.hint("shuffle_hash") if isinstance(node.activity, Join) else whole

    def _all_of(self, node: Node, number: int) -> DataFrame:
        return self._scratch.read(self._kept[node.name, number], self._schema(node, number))

    def _schema(self, node: Node, number: int) -> StructType:
        producer, port = node.inputs[number]
        activity = self.graph[producer].activity
        outside = (activity.producer, activity.port) if isinstance(activity, StagedInput) else (producer, port)
        return self.surroundings.schemas.by_port[outside]


def _frame_pack(pack: Pack) -> FramePack:
    assert isinstance(pack, FramePack), "all packs that wait were made here"
    return pack
