"""The small project on disk of the tests of `observe`."""

from tests.observe.conftest import shop

__all__ = ["shop"]
