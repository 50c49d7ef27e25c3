"""What the benchmarks run on, and what they use of it: cores, memory and processor time, read from /proc."""

from __future__ import annotations

import os
import platform
import threading
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import TracebackType

from freshtide.spark import SparkSession

_TICKS = os.sysconf("SC_CLK_TCK")
_MEGABYTE = 1024 * 1024


def facts() -> dict[str, str]:
    """The machine and the versions, for the head of a result."""
    packages = ("freshtide", "pyspark", "deltalake", "pyarrow")
    return {
        "cores": str(os.cpu_count()),
        "memory": f"{_memory_total() / 1024:.0f} GB",
        "load": " ".join(f"{load:.1f}" for load in os.getloadavg()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def jvm_pid() -> int:
    """The process of the JVM that this process has started."""
    ours = {os.getpid()}
    parents = {int(entry.name): _parent(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    grown = True
    while grown:
        children = {pid for pid, parent in parents.items() if parent in ours} - ours
        ours |= children
        grown = bool(children)
    javas = [pid for pid in sorted(ours) if _command(pid) == "java"]
    if not javas:
        raise LookupError("no JVM runs below this process: start Spark first")
    return javas[0]


def resident(pid: int) -> float:
    """Resident memory of a process, in MB."""
    return _field(Path(f"/proc/{pid}/status"), "VmRSS:") / 1024


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used so far, in user and system mode."""
    fields = _stat(Path(f"/proc/{pid}"))
    return (int(fields[11]) + int(fields[12])) / _TICKS


def heap_after_collection(spark: SparkSession) -> float:
    """What the JVM really holds on to, in MB: resident memory also counts garbage not collected yet."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / _MEGABYTE


@dataclass(slots=True)
class _Peak:
    before: float
    highest: float


class MemoryWatch:
    """How far the resident memory of Python and of the JVM rises within a block, in MB."""

    def __init__(self) -> None:
        self._peaks = {pid: _Peak(resident(pid), resident(pid)) for pid in (os.getpid(), jvm_pid())}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def growth(self) -> tuple[float, float]:
        """(Python, JVM): from the beginning to the highest point."""
        python, jvm = (peak.highest - peak.before for peak in self._peaks.values())
        return python, jvm

    def _sample(self) -> None:
        while not self._stop.wait(0.05):
            for pid, peak in self._peaks.items():
                peak.highest = max(peak.highest, resident(pid))


def _memory_total() -> float:
    return _field(Path("/proc/meminfo"), "MemTotal:") / 1024


def _field(path: Path, name: str) -> float:
    for line in path.read_text().splitlines():
        if line.startswith(name):
            return float(line.split()[1])
    raise LookupError(f"{path} has no {name}")


def _stat(process: Path) -> list[str]:
    """The fields of /proc/PID/stat after the command, which may itself hold blanks."""
    return (process / "stat").read_text().rpartition(")")[2].split()


def _parent(process: Path) -> int:
    try:
        return int(_stat(process)[1])
    except (OSError, IndexError):
        return 0  # it has ended meanwhile


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
