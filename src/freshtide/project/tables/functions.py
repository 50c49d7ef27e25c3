"""Python functions as queries: which sources they read, and how to notice that they have changed."""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

from freshtide.core.errors import FreshtideError, suggestion
from freshtide.core.tables import FunctionQuery

Sources = Mapping[str, str] | Sequence[str]


class SourcesError(FreshtideError):
    """A function whose parameters and sources do not fit together."""


def function_query(function: Callable[..., Any], sources: Sources | None = None) -> FunctionQuery:
    """The query that a function is.

    Each parameter without a default is a source of that name. `sources` names them otherwise: one name per
    parameter, in order, or a mapping for those parameters that are called differently.
    """
    return FunctionQuery(
        function=function, parameters=_parameters(function, sources), fingerprint=fingerprint(function)
    )


def fingerprint(function: Callable[..., Any]) -> str:
    """A hash that changes when the function does.

    It is taken of the source text from `def` on: a new priority in the decorator changes no result, and must
    not lead to a rebuild. Where there is no source text, the compiled code counts.
    """
    try:
        written = textwrap.dedent(inspect.getsource(function)).encode()
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        written = _code_bytes(code) if code is not None else repr(function).encode()
        return hashlib.sha256(written).hexdigest()
    return hashlib.sha256(_without_decorators(written)).hexdigest()


def _without_decorators(written: bytes) -> bytes:
    try:
        node = ast.parse(written).body[0]
    except SyntaxError:  # a lambda in the middle of an expression
        return written
    return b"".join(written.splitlines(keepends=True)[node.lineno - 1 :])


def _code_bytes(code: CodeType) -> bytes:
    constants = (
        _code_bytes(constant) if isinstance(constant, CodeType) else repr(constant).encode()
        for constant in code.co_consts
    )
    return b"\0".join((code.co_code, repr(code.co_names).encode(), *constants))


def _parameters(function: Callable[..., Any], sources: Sources | None) -> dict[str, str]:
    name = getattr(function, "__name__", "the function")
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise SourcesError(
                f"'{name}' has the parameter '{parameter}', which cannot be a source.",
                way_out="Give it one plain parameter per source.",
            )
        if parameter.default is parameter.empty:
            names.append(parameter.name)
    if not names:
        raise SourcesError(
            f"'{name}' has no parameters, so it has no sources.",
            way_out="Give it a parameter for each table that it reads, called like the table.",
        )
    return _named(name, names, sources)


def _named(function: str, names: list[str], sources: Sources | None) -> dict[str, str]:
    if sources is None:
        return {name: name for name in names}
    if isinstance(sources, Mapping):
        for given in sources:
            if given not in names:
                raise SourcesError(
                    f"'{function}' has no parameter '{given}' to pass a source to.",
                    way_out=suggestion(str(given), names),
                )
        return {name: str(sources.get(name, name)) for name in names}
    if isinstance(sources, str) or len(sources) != len(names):
        raise SourcesError(
            f"'{function}' has {len(names)} parameters ({', '.join(names)}), and sources does not name as many.",
            way_out="Name one source per parameter, or map parameters to sources: {'parameter': 'table'}.",
        )
    return dict(zip(names, map(str, sources), strict=True))
