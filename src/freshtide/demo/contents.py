"""What the files of each feed hold: a function per feed, from a span of time to the bytes of its file."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from freshtide.demo.encoding import csv_bytes, gzip_bytes, json_line, lines_bytes, parquet_bytes
from freshtide.demo.network import INTERFACES, ROUTERS, Network
from freshtide.demo.spans import Span, iso, moment, plain

_LINE_RATE = 10e9 / 8
_TARGETS = {"dns": 4.0, "exchange": 11.0, "cloud-eu": 19.0, "cloud-us": 88.0}
_TROUBLE = (
    (1, "kernel", "out of memory: routing daemon restarted"),
    (2, "chassis", "line card 0 does not answer"),
    (3, "bgp", "hold timer expired, session closed"),
    (3, "link", "too many CRC errors on input"),
)
_CHATTER = (
    (6, "auth", "session opened for user noc"),
    (6, "ntp", "clock adjusted by 0.4 ms"),
    (5, "link", "interface description changed"),
    (4, "chassis", "fan speed raised"),
)
_COMPLAINTS = ("Slow since this morning, please check", "No route to branch office", "Packet loss, VoIP unusable")
_NEW_TICKETS = 5
_TICKET_LIFE = 7
"""After so many further files a ticket is closed."""
_PROBES = pa.schema(
    [
        ("probed_at", pa.timestamp("us", tz="UTC")),
        ("router", pa.string()),
        ("target", pa.string()),
        ("rtt_ms", pa.float64()),
        ("lost", pa.bool_()),
    ]
)


def router_cpu(network: Network, span: Span, rng: Random) -> bytes:
    """Each router once; now and then one answers what is no number."""
    rows: list[list[object]] = []
    for at, router in zip(span.stamps(len(network.routers)), network.routers, strict=True):
        cpu = _percent(network.load(router, at) + rng.gauss(0, 3))
        rows.append([iso(at), router.name, cpu, _percent(router.idle_load * 2 + rng.gauss(0, 1))])
    if span.index % 10 == 4:
        rows[rng.randrange(len(rows) - 1)][2] = "n/a"
    return csv_bytes(rows, header="measured_at router cpu_percent memory_percent")


def interface_traffic(network: Network, span: Span, rng: Random) -> bytes:
    """Each interface once, with what went through it within the span."""
    places = [(router, interface) for router in network.routers for interface in INTERFACES]
    seconds = (span.end - span.begin) / 1_000
    rows = []
    for at, (router, interface) in zip(span.stamps(len(places)), places, strict=True):
        # A bad router forwards little.
        usual = 0.05 if network.is_bad(router, at) else network.load(router, at) / 120
        both = [round(_LINE_RATE * seconds * usual * rng.uniform(0.8, 1.2)) for _ in ("in", "out")]
        rows.append([plain(at), router.name, interface, *both])
    return gzip_bytes(csv_bytes(rows, header="counted_at router interface in_bytes out_bytes", delimiter=";"))


def syslog(network: Network, span: Span, rng: Random) -> bytes:
    """Chatter, a few errors from anywhere and many from a bad router; now and then a line is torn."""
    lines = []
    for at in span.stamps(80):
        incident = network.incident_at(at)
        router = rng.choice(ROUTERS)
        severity, facility, message = rng.choice(_TROUBLE if rng.random() < 0.02 else _CHATTER)
        if incident is not None and rng.random() < 0.08:
            router = incident.router
            severity, facility, message = rng.choice(_TROUBLE)
        record = {"logged_at": at, "router": router, "severity": severity}
        lines.append(json_line({**record, "facility": facility, "message": message}))
    if span.index % 15 == 7:
        torn = rng.randrange(len(lines) - 1)
        lines[torn] = lines[torn][:40]
    return lines_bytes(lines)


def link_alerts(network: Network, span: Span, rng: Random) -> bytes:
    """Out of order by up to 4 seconds; now and then one that is far too late."""
    *earlier, last = span.stamps(50)
    stamps = [at - rng.randrange(4_000) for at in earlier]
    if span.index % 4 == 2:
        stamps[rng.randrange(len(stamps))] = span.begin - rng.randrange(20_000, 40_000)
    lines = []
    for at in (*stamps, last):
        incident = network.incident_at(at)
        router = rng.choice(ROUTERS)
        (state,) = rng.choices(("up", "degraded", "down"), weights=(60, 30, 10))
        if incident is not None and rng.random() < 0.1:
            router, state = incident.router, rng.choice(("degraded", "down"))
        record = {"raised_at": iso(at), "router": router, "interface": rng.choice(INTERFACES), "state": state}
        lines.append(json_line(record))
    return lines_bytes(lines)


def bgp_updates(network: Network, span: Span, rng: Random) -> bytes:
    """Routes that come and go; those of a bad router flap."""
    rows = []
    for at in span.stamps(120):
        incident = network.incident_at(at)
        is_flap = incident is not None and rng.random() < 0.2
        router = incident.router if incident is not None and is_flap else rng.choice(ROUTERS)
        withdrawn = rng.random() < (0.5 if is_flap else 0.08)
        peer = 64_500 + rng.randrange(20)
        prefix = f"10.{ROUTERS.index(router)}.{rng.randrange(8)}.0/24"
        path = "" if withdrawn else f"{peer} {rng.randrange(1_000, 9_000)} {rng.randrange(1_000, 9_000)}"
        rows.append([f"{at / 1_000:.3f}", "W" if withdrawn else "A", router, peer, prefix, path])
    return csv_bytes(rows, delimiter="|")


def probe_latency(network: Network, span: Span, rng: Random) -> bytes:
    """From each router to each target once; from a bad router probes take long or get lost."""
    places = [(router, target) for router in network.routers for target in _TARGETS]
    rows = []
    for at, (router, target) in zip(span.stamps(len(places)), places, strict=True):
        is_bad = network.is_bad(router, at)
        lost = rng.random() < (0.3 if is_bad else 0.002)
        rtt = _TARGETS[target] * rng.lognormvariate(0, 0.08) * (4 if is_bad else 1)
        rows.append([moment(at), router.name, target, None if lost else round(rtt, 3), lost])
    return parquet_bytes(rows, _PROBES)


def tickets(network: Network, span: Span, rng: Random) -> bytes:
    """A few new tickets, work on those of the last files, and the oldest closed."""
    opened = [(_ticket(span.index, place), "open") for place in range(_NEW_TICKETS)]
    worked_on = [
        (_ticket(span.index - rng.randrange(1, _TICKET_LIFE), rng.randrange(_NEW_TICKETS)), status)
        for status in rng.choices(("working", "waiting"), k=40)
    ]
    closed = [(_ticket(span.index - _TICKET_LIFE, place), "closed") for place in range(_NEW_TICKETS)]
    events = [*opened, *worked_on, *closed]
    rows = []
    for at, (ticket, status) in zip(span.stamps(len(events)), events, strict=True):
        # A ticket keeps its router and its summary; of some nobody knows the router.
        about = network.rng(f"ticket/{ticket}")
        router = "-" if about.random() < 0.2 else about.choice(ROUTERS)
        rows.append([iso(at), f"NOC-{ticket}", router, status, about.choice(_COMPLAINTS)])
    return csv_bytes(rows, header="changed_at ticket router status summary")


def router_inventory(network: Network, span: Span, rng: Random) -> bytes:
    """All routers as of the end of the span; with each dump a few more have the new release."""
    order = network.rng("upgrades").sample(range(len(network.routers)), len(network.routers))
    upgraded = set(order[: 3 * span.index])
    rows = []
    for place, router in enumerate(network.routers):
        release = "7.4.1" if place in upgraded else f"7.3.{rng.choice((2, 2, 2, 1))}"
        row = [iso(span.end), router.name, router.site, router.vendor, router.model, release, len(INTERFACES)]
        rows.append(row)
    return csv_bytes(rows, header="dumped_at router site vendor model os_version interfaces")


def _percent(value: float) -> str:
    return f"{min(max(value, 0.5), 99.99):.2f}"


def _ticket(index: int, place: int) -> int:
    return 20_000 + index * _NEW_TICKETS + place
