"""What ends Spark's process is found, whatever ran beside it."""

from __future__ import annotations

import threading

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.runtime.suspects import Suspects
from freshtide.world import SystemThreads


def files(*names: str) -> list[Arrival]:
    return [
        Arrival(
            feed="f",
            position=name,
            digest="",
            size=1,
            modified_ns=1,
            arrived_at=0.0,
            state=ArrivalState.READY,
            timestamp=0.0,
        )
        for name in names
    ]


def load(suspects: Suspects, pending: list[Arrival], killer: str) -> str | None:
    """Load as the worker does until all is loaded; the path of the file that was found guilty."""
    guilty = None
    while pending:
        with suspects.room("t"):
            some = pending[: suspects.most("t", 1_000)]
            suspects.takes("t", some)
            if all(file.position != killer for file in some):
                del pending[: len(some)]
                continue
            found = suspects.ended_spark("t")
            if found is not None:
                assert found.file is not None
                guilty = found.file.position
                pending.remove(found.file)
    return guilty


def test_of_many_files_the_one_is_found_in_few_deaths() -> None:
    for killer in ("f0", "f5", "f8"):
        assert load(Suspects(SystemThreads()), files(*(f"f{number}" for number in range(9))), killer) == killer


def test_an_update_without_files_is_guilty_the_second_time() -> None:
    suspects = Suspects(SystemThreads())
    with suspects.room("view"):
        assert suspects.ended_spark("view") is None
    with suspects.room("view"):
        found = suspects.ended_spark("view")
    assert found is not None
    assert found.file is None


def test_a_suspect_runs_alone_and_holds_up_the_others_for_no_longer() -> None:
    suspects = Suspects(SystemThreads())
    with suspects.room("t"):
        suspects.ended_spark("t")
    order: list[str] = []
    entered, leave = threading.Event(), threading.Event()

    def run(table: str) -> None:
        with suspects.room(table):
            order.append(table)
            entered.set()
            leave.wait(10.0)

    beside = threading.Thread(target=run, args=("u",))
    beside.start()
    entered.wait(10.0)
    suspect = threading.Thread(target=run, args=("t",))
    suspect.start()
    suspect.join(0.1)
    assert order == ["u"], "the suspect waits until nothing else runs"
    leave.set()
    suspect.join(10.0)
    beside.join(10.0)
    assert order == ["u", "t"]
    suspects.acquit("t")
    with suspects.room("t"), suspects.room("u"):
        pass
