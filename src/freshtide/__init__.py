"""A streaming data warehouse on Apache Spark that keeps every table as fresh as the machines allow.

Here are only the names that users import, loaded when they are asked for. What belongs into a package is said in its
own docstring.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from freshtide.flows import Flow
    from freshtide.project import feed, materialized_view, table
    from freshtide.warehouse import Warehouse

__version__ = "0.1.0"
__all__ = ["Flow", "Warehouse", "__version__", "feed", "materialized_view", "table"]

_HOMES = {
    "Flow": "freshtide.flows",
    "Warehouse": "freshtide.warehouse",
    "feed": "freshtide.project",
    "materialized_view": "freshtide.project",
    "table": "freshtide.project",
}


def __getattr__(name: str) -> object:
    """Load the public names when they are asked for: Spark takes a second that `freshtide --help` need not wait."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'freshtide' has no attribute '{name}'")
