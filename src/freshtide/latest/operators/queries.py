"""Continuous queries: operators put together (Moga et al. 2009, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from freshtide.core.errors import UsageError, suggestion
from freshtide.latest.operators.elements import Element, Operator, OperatorError


class UnknownStreamError(UsageError):
    """A stream that the query does not read."""

    def __init__(self, name: str, *, known: Iterable[str]) -> None:
        super().__init__(f"The query reads no stream '{name}'.", way_out=suggestion(name, known))


class Step:
    """An operator and where its inputs come from: streams, by name, or other steps."""

    def __init__(self, operator: Operator, *sources: Step | str) -> None:
        if not sources or operator.inputs not in (None, len(sources)):
            wanted = "at least one" if operator.inputs is None else operator.inputs
            raise OperatorError(
                f"A {type(operator).__name__.lower()} was given {len(sources)} inputs.",
                way_out=f"Give it {wanted}.",
            )
        self.operator = operator
        self.sources = sources


class ContinuousQuery:
    """Takes the elements of update streams one by one and tells what the application gets because of each."""

    def __init__(self, last: Step) -> None:
        self._last = last
        self._readers: dict[Step | str, list[tuple[Step, int]]] = {}
        self._connect(last)

    @property
    def streams(self) -> frozenset[str]:
        """The names of the streams that it reads."""
        return frozenset(source for source in self._readers if isinstance(source, str))

    def push(self, stream: str, element: Element) -> list[Element]:
        """What follows from the next element of a stream."""
        if stream not in self._readers:
            raise UnknownStreamError(stream, known=self.streams)
        return list(self._passed_on(stream, element))

    def _connect(self, step: Step) -> None:
        """Note who reads what. A step that several others read is there once."""
        for port, source in enumerate(step.sources):
            known = source in self._readers
            self._readers.setdefault(source, []).append((step, port))
            if isinstance(source, Step) and not known:
                self._connect(source)

    def _passed_on(self, source: Step | str, element: Element) -> Iterator[Element]:
        for step, port in self._readers[source]:
            for result in step.operator.process(element, port):
                if step is self._last:
                    yield result
                else:
                    yield from self._passed_on(step, result)
