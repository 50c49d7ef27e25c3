"""The network that the demo's data comes from: its routers, their day, and what goes wrong."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from random import Random

SITES = ("ams", "cph", "fra", "lon", "mad", "mil", "par", "sto", "vie", "zrh")
ROLES = ("core-1", "core-2", "edge-1", "edge-2", "agg-1")
ROUTERS = tuple(f"{site}-{role}" for site in SITES for role in ROLES)
INTERFACES = ("xe-0/0/0", "xe-0/0/1", "xe-0/1/0", "xe-0/1/1")
_MODELS = (("Borealis", "B-9000"), ("Borealis", "B-4400"), ("Cirrus", "CX-12"), ("Cirrus", "CX-5"), ("Dunlin", "D1"))
_DAY = 86_400_000
_QUIETEST = 4 * 3_600_000  # 4 o'clock at night, UTC
_INCIDENT_EVERY = 20_000
_BAD_LOAD = 96.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Router:
    """A router, and how busy it is at night, in percent."""

    name: str
    site: str
    vendor: str
    model: str
    idle_load: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A router, by name, that is bad from `begin` until before `end` (milliseconds)."""

    router: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The network as of any moment: all of it follows from the seed and the start (milliseconds)."""

    seed: int
    start: int
    routers: tuple[Router, ...]

    @classmethod
    def built(cls, *, seed: int, start: int) -> Network:
        rng = _rng(seed, "routers")
        routers = []
        for name in ROUTERS:
            vendor, model = rng.choice(_MODELS)
            site, _, _ = name.partition("-")
            routers.append(Router(name=name, site=site, vendor=vendor, model=model, idle_load=rng.uniform(5, 30)))
        return cls(seed=seed, start=start, routers=tuple(routers))

    def rng(self, purpose: str) -> Random:
        """Chance for one purpose, independent of all others: what is asked first makes no difference."""
        return _rng(self.seed, purpose)

    def load(self, router: Router, at: int) -> float:
        """How busy a router is, in percent, before noise."""
        return _BAD_LOAD if self.is_bad(router, at) else router.idle_load + 30 * _daily(at)

    def is_bad(self, router: Router, at: int) -> bool:
        incident = self.incident_at(at)
        return incident is not None and incident.router == router.name

    def incident_at(self, at: int) -> Incident | None:
        """The incident under way: there is at most one, for about 15 seconds of every 20."""
        incident = _incident(self.seed, self.start, (at - self.start) // _INCIDENT_EVERY)
        return incident if incident.begin <= at < incident.end else None


@functools.lru_cache(maxsize=256)
def _incident(seed: int, start: int, turn: int) -> Incident:
    rng = _rng(seed, f"incident/{turn}")
    begin = start + turn * _INCIDENT_EVERY + rng.randrange(1_000, 4_000)
    return Incident(router=rng.choice(ROUTERS), begin=begin, end=begin + rng.randrange(13_000, 16_000))


def _rng(seed: int, purpose: str) -> Random:
    return Random(f"{seed}/{purpose}")


def _daily(at: int) -> float:
    """The share of the daily rise: 0 in the quietest hour of the night, 1 twelve hours later."""
    return (1 - math.cos(2 * math.pi * ((at - _QUIETEST) % _DAY) / _DAY)) / 2
