"""A cluster of one worker that comes and goes; run by a test, in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from freshtide import Warehouse
from tests.trust.runs import Running, running
from tests.waiting import wait_until
from tests.warehouse.shop import Shop

UNSEEN = "What Spark's workers write"
SPARK = Path(_find_spark_home())


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def started(command: list[str], log: Path) -> Iterator[None]:
    """A process and all that it starts, until the end of the block."""
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def spark_class(name: str, *words: str) -> list[str]:
    return [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *words]


def worker(master: str, folder: Path) -> list[str]:
    return spark_class("worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", str(folder), master)


class ClusterShop(Shop):
    """A warehouse whose work a cluster does."""

    def __init__(self, root: Path, master: str) -> None:
        self.root = root
        spark = {"master": master, "executor_memory": "512m", "spark.driver.host": "127.0.0.1"}
        self.warehouse = Warehouse(root, poll="20ms", retry={"backoff": "100ms"}, large_update=1, spark=spark)
        self.events("a")


def main(root: Path) -> None:
    port = free_port()
    master, logs = f"spark://127.0.0.1:{port}", root.parent
    with started(spark_class("master.Master", "--port", str(port), "--webui-port", "0"), logs / "master.log"):
        wait_until(lambda: answers(port))
        with started(worker(master, logs / "w1"), logs / "w1.log"):
            shop = ClusterShop(root, master)
            shop.drop_events("a", "1.csv", [(1, "x", 1)])
            shop.load()
        with running(shop) as run:
            run.wait_for(lambda: run.heard("Spark has no executors"))
            told = shop.warehouse.status().surroundings
            assert told is not None
            assert "no executors" in told.reason, told
            shop.drop_events("a", "2.csv", [(2, "x", 2)])
            with started(worker(master, logs / "w2"), logs / "w2.log"):
                run.wait_for(lambda: shop.freshness("a") == 2)
                run.end()
        assert shop.counts()["a"].unaccounted == 0
        if os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0:
            hidden = f"mount -t tmpfs none {root / 'warehouse'} && exec {' '.join(worker(master, logs / 'w3'))}"
            with started(["unshare", "-m", "sh", "-c", hidden], logs / "w3.log"):
                blind = Running(shop)
                wait_until(lambda: blind.heard(UNSEEN) or UNSEEN in str(blind.fault))
                blind.end()
        shop.warehouse.close()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    main(Path(sys.argv[1]))
