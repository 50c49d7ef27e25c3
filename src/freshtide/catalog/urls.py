"""Where a catalog is: SQLAlchemy URLs, as users write them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote_plus

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from freshtide.core.errors import UsageError
from freshtide.core.secrets import HIDDEN, hide, is_secret_name

_EXAMPLE = "Write postgresql+psycopg://user@host/database, or leave `catalog` out: SQLite needs no settings."
# How long to wait for a server that does not answer at all; the drivers' own patience is minutes.
_CONNECT_WITHIN = "10"

# Of Python's driver, and of SQLite's own URIs.
_SQLITE_PARAMETERS = frozenset(
    {"cached_statements", "check_same_thread", "detect_types", "isolation_level", "timeout", "uri"}
    | {"cache", "immutable", "mode", "modeof", "nolock", "psow", "vfs"}
)


class CatalogUrlError(UsageError):
    """A URL that names no database for a catalog. The URL is not repeated: there may be a password in it."""


def parse_url(text: str) -> URL:
    """Read a URL; whether its driver is installed and its server answers shows when it is opened."""
    try:
        url = make_url(text)
        url.get_dialect()
    except (SQLAlchemyError, ValueError):
        raise CatalogUrlError("The catalog's URL cannot be understood.", way_out=_EXAMPLE) from None
    if url.get_backend_name() not in {"sqlite", "postgresql"}:
        message = f"The catalog cannot be kept in {url.get_backend_name()}: it is SQLite or PostgreSQL."
        raise CatalogUrlError(message, way_out=_EXAMPLE)
    unknown = [name for name in url.query if not _is_known(name, url.get_backend_name())]
    if unknown:
        raise CatalogUrlError(
            f"The catalog's URL has a parameter '{unknown[0]}', which {url.get_backend_name()} does not know.",
            way_out="Take it out, or mend its name.",
        )
    return url


def _is_known(parameter: str, backend: str) -> bool:
    """Whether a driver takes a parameter; what PostgreSQL's takes is only known where it is installed."""
    if backend == "sqlite":
        return parameter in _SQLITE_PARAMETERS
    try:
        from psycopg.conninfo import make_conninfo
        from psycopg.errors import ProgrammingError
    except ImportError:
        return True
    try:
        make_conninfo("", **{parameter: "1"})
    except ProgrammingError:
        return False
    return True


def url_within(text: str, folder: Path) -> str:
    """The URL, with the path of a SQLite file taken from a folder and not from where a command is typed."""
    url = parse_url(text)
    if url.get_backend_name() != "sqlite" or not url.database:
        return text
    return url.set(database=str(folder / url.database)).render_as_string(hide_password=False)


def folder_of(text: str) -> Path | None:
    """The folder of a SQLite file; None where the catalog is on a server, or in memory."""
    url = parse_url(text)
    return Path(url.database).parent if url.get_backend_name() == "sqlite" and url.database else None


def without_password(text: str) -> str:
    """The URL to be shown: neither before the host nor among its parameters is there a secret."""
    url = make_url(text)
    hidden = {name: HIDDEN for name in url.query if is_secret_name(name)}
    return url.update_query_dict(hidden).render_as_string(hide_password=True).replace(quote_plus(HIDDEN), HIDDEN)


def hide_secrets(url: URL) -> None:
    """Let the secrets of a URL be shown nowhere."""
    given = [value for name, value in url.query.items() if is_secret_name(name)]
    for value in (url.password, *given):
        for each in (value,) if isinstance(value, str) else value or ():
            hide(each)


def with_patience(url: URL) -> URL:
    """The URL with a limit to the wait for its server, unless it sets one itself."""
    if url.get_driver_name() not in {"psycopg", "psycopg2"} or "connect_timeout" in url.query:
        return url
    return url.update_query_dict({"connect_timeout": _CONNECT_WITHIN})
