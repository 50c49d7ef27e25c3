"""python -m bench [NAME ...] [--quick] [options of one benchmark]"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.results import RESULTS, Report


class _Benchmark(Protocol):
    def __call__(self, folder: Path, *, quick: bool) -> Report: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    load: Callable[[], _Benchmark]
    limit: float
    """Seconds after which it is ended, whatever it does."""
    with_options: Callable[[Sequence[str]], _Benchmark] | None = None
    """The same with options of its own."""


def _latency() -> _Benchmark:
    from bench.latency import run

    return run


def _fixed_cost() -> _Benchmark:
    from bench.fixed_cost import run

    return run


def _throughput() -> _Benchmark:
    from bench.throughput import run

    return run


def _endurance() -> _Benchmark:
    from bench.endurance import run

    return run


def _idle() -> _Benchmark:
    from bench.idle import run

    return run


def _prediction() -> _Benchmark:
    from bench.prediction import run

    return run


def _predicted_worlds() -> _Benchmark:
    from bench.predicted_worlds import run

    return run


def _simulation() -> _Benchmark:
    from bench.simulation import run

    return run


def _sustained() -> _Benchmark:
    from bench.sustained import run

    return run


def _flood() -> _Benchmark:
    from bench.flood import run

    return run


def _worlds() -> _Benchmark:
    from bench.worlds import run

    return run


def _flows() -> _Benchmark:
    from bench.flows import run

    return run


def _update_queues() -> _Benchmark:
    from bench.update_queues import run

    return run


def _update_tables() -> _Benchmark:
    from bench.update_tables import run

    return run


def _log_growth() -> _Benchmark:
    from bench.log_growth import run

    return run


def _incremental() -> _Benchmark:
    from bench.incremental import run

    return run


def _incremental_with(options: Sequence[str]) -> _Benchmark:
    from bench.incremental import with_options

    return with_options(options)


_BENCHMARKS = {
    "latency": _Entry(load=_latency, limit=2_400),
    "fixed-cost": _Entry(load=_fixed_cost, limit=600),
    "throughput": _Entry(load=_throughput, limit=1_200),
    "endurance": _Entry(load=_endurance, limit=2_400),
    "idle": _Entry(load=_idle, limit=600),
    "simulation": _Entry(load=_simulation, limit=600),
    "sustained": _Entry(load=_sustained, limit=4_800),
    "flood": _Entry(load=_flood, limit=900),
    "worlds": _Entry(load=_worlds, limit=3_600),
    "prediction": _Entry(load=_prediction, limit=1_200),
    "predicted-worlds": _Entry(load=_predicted_worlds, limit=7_200),
    "flows": _Entry(load=_flows, limit=3_600),
    "update-queues": _Entry(load=_update_queues, limit=600),
    "update-tables": _Entry(load=_update_tables, limit=1_200),
    "log-growth": _Entry(load=_log_growth, limit=1_200),
    "incremental": _Entry(load=_incremental, limit=36_000, with_options=_incremental_with),
}
_QUICK_LIMIT = 180.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(_BENCHMARKS)}; all if none")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and rows: a check, not a measurement")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options, own = parser.parse_known_args()
    unknown = [name for name in options.names if name not in _BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark '{unknown[0]}': {', '.join(_BENCHMARKS)}")
    if own and (len(options.names) != 1 or _BENCHMARKS[options.names[0]].with_options is None):
        with_own = [name for name, entry in _BENCHMARKS.items() if entry.with_options is not None]
        parser.error(f"{own[0]} is an option of a single benchmark, and only {', '.join(with_own)} has any")
    if options.here:
        for name in options.names:
            _run_here(name, own, quick=options.quick)
        return 0
    failed = [name for name in options.names or _BENCHMARKS if not _run_apart(name, own, quick=options.quick)]
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _run_here(name: str, own: Sequence[str], *, quick: bool) -> None:
    from bench.machine import facts

    work = RESULTS / "work"
    work.mkdir(parents=True, exist_ok=True)
    command = " ".join(["python -m bench", name, *own, *["--quick"] * quick])
    entry = _BENCHMARKS[name]
    benchmark = entry.with_options(own) if own and entry.with_options is not None else entry.load()
    machine = facts()
    with tempfile.TemporaryDirectory(dir=work, prefix=f"{name}-", ignore_cleanup_errors=True) as folder:
        report = benchmark(Path(folder), quick=quick)
    report.show(machine, command)
    print(f"\n  kept in {report.save(machine, command)}", flush=True)


def _run_apart(name: str, own: Sequence[str], *, quick: bool) -> bool:
    """In a process of its own: memory and the warmth of the JVM are not handed on from one to the next."""
    command = [sys.executable, "-m", "bench", name, "--here", *own, *(["--quick"] if quick else [])]
    limit = _QUICK_LIMIT if quick else _BENCHMARKS[name].limit
    process = subprocess.Popen(command, start_new_session=True)
    try:
        return process.wait(timeout=limit) == 0
    except subprocess.TimeoutExpired:
        print(f"{name} was ended: it took more than {limit:.0f} s", file=sys.stderr)
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
