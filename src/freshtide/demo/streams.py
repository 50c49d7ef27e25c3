"""Which files the network delivers: when, where to, under which names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from freshtide.demo import contents
from freshtide.demo.network import Network
from freshtide.demo.spans import Span, compact

Content = Callable[[Network, Span, Random], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The files of one feed. The first comes at the start, the second after `phase`, each other after a period."""

    feed: str
    folder: str
    name: str
    """With `{at}` in place of the end of the span."""
    period: int
    phase: int
    """Milliseconds, as the period. Different ones keep the feeds from delivering all at the same moment."""
    content: Content
    with_marker: bool = False

    def span(self, index: int, start: int) -> Span:
        """The span of the file of that index, for a generator that starts at `start` (milliseconds)."""
        return Span(index=index, begin=self._end(index - 1, start), end=self._end(index, start))

    def file_name(self, span: Span) -> str:
        return self.name.format(at=compact(span.end))

    def _end(self, index: int, start: int) -> int:
        return start + (self.phase + (index - 1) * self.period if index > 0 else index * self.period)


STREAMS = (
    Stream(
        feed="router_cpu_feed",
        folder="cpu",
        name="cpu_{at}.csv",
        period=2_000,
        phase=2_000,
        content=contents.router_cpu,
    ),
    Stream(
        feed="syslog_feed",
        folder="syslog",
        name="syslog_{at}.jsonl",
        period=2_000,
        phase=1_000,
        content=contents.syslog,
    ),
    Stream(
        feed="interface_traffic_feed",
        folder="traffic",
        name="traffic_{at}.csv.gz",
        period=5_000,
        phase=3_500,
        content=contents.interface_traffic,
    ),
    Stream(
        feed="link_alerts_feed",
        folder="alerts",
        name="alerts_{at}.json",
        period=5_000,
        phase=4_200,
        content=contents.link_alerts,
    ),
    Stream(
        feed="bgp_updates_feed",
        folder="bgp",
        name="bgp_{at}.csv",
        period=10_000,
        phase=6_700,
        content=contents.bgp_updates,
        with_marker=True,
    ),
    Stream(
        feed="probe_latency_feed",
        folder="probes",
        name="probes_{at}.parquet",
        period=10_000,
        phase=9_300,
        content=contents.probe_latency,
    ),
    Stream(
        feed="tickets_feed",
        folder="tickets",
        name="tickets_{at}.csv",
        period=20_000,
        phase=12_800,
        content=contents.tickets,
    ),
    # Exactly a period apart, so that each reading of a router falls into the minute of just one dump.
    Stream(
        feed="router_inventory_feed",
        folder="inventory",
        name="inventory_{at}.csv",
        period=60_000,
        phase=60_000,
        content=contents.router_inventory,
    ),
)
