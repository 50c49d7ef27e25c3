"""A JVM that outlives the runs that are killed: a run that finds it warm is at work within a second.

The process of a run is killed as dead as ever. What it had told Spark to do is then cut off by stopping Spark's
context, as it is when executors lose their driver. Every so many kills take a
JVM of their own with them (see `campaign`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyspark.java_gateway import launch_gateway


class WarmJvm:
    """A gateway to share with the runs, one after the other."""

    def __init__(self, log: Path) -> None:
        """What the JVM prints goes to the log."""
        os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 1g pyspark-shell")
        ours = os.dup(2)
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        try:
            self._gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
        finally:
            os.dup2(ours, 2)
            os.close(ours)

    @property
    def environment(self) -> dict[str, str]:
        """What lets a process use this JVM instead of starting its own."""
        parameters = self._gateway.gateway_parameters
        return {"PYSPARK_GATEWAY_PORT": str(parameters.port), "PYSPARK_GATEWAY_SECRET": parameters.auth_token}

    def cut_off(self) -> None:
        """Stop what a killed run has left behind."""
        companion = getattr(getattr(self._gateway.jvm.org.apache.spark, "SparkContext$"), "MODULE$")
        active = companion.getActive()
        if active.isDefined():
            active.get().stop()

    def close(self) -> None:
        self._gateway.shutdown()
        self._gateway.proc.stdin.close()
