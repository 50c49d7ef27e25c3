"""Commands: puts everything together and speaks with people.

Exit codes: 0 done, 1 a run failed or a promise is broken, 2 the project or the call is wrong.
"""

from freshtide.cli.app import main

__all__ = ["main"]
