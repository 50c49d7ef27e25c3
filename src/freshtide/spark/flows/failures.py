"""What to tell when an activity fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from freshtide.core.errors import FreshtideError
from freshtide.spark.failures import SPARK_ERRORS, plain_words


class ActivityError(FreshtideError):
    """An activity that failed: the flow has stopped, and nothing is committed."""

    def __init__(self, activity: str, place: str, problem: str) -> None:
        super().__init__(
            f"Activity '{activity}' failed at {place}: {problem}",
            way_out="Nothing was committed. Mend the cause and run the flow again; it starts from the beginning.",
        )
        self.activity = activity


@contextmanager
def naming(activity: str, place: str) -> Iterator[None]:
    """Let what goes wrong within say which activity it was, and where in its input."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise ActivityError(activity, place, plain_words(error)) from error
    except ActivityError:
        raise
    except FreshtideError as error:
        raise ActivityError(activity, place, str(error)) from error
