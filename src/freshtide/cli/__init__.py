"""Commands: puts everything together and speaks with people.

A module for each group of commands reads options, asks the packages below, and prints what they answer; what
somebody else could want as well belongs there. What needs Spark is imported when a command needs it, so that the others
are quick.

Exit codes: 0 done, 1 a run failed or a promise is broken, 2 the project or the call is wrong, 130 interrupted.
"""

from __future__ import annotations

import sys

from freshtide.interrupts import interrupts_later

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> None:
    """Run the command line, which is imported here: Ctrl-C may come as early as that."""
    try:
        # While they are imported libraries may swallow an interrupt.
        with interrupts_later():
            from freshtide.cli.app import main as run
        run()
    except (KeyboardInterrupt, SystemExit) as ended:
        # Within a command Typer has made an exit code of it.
        if isinstance(ended, SystemExit) and ended.code != _INTERRUPTED:
            raise
        sys.stderr.write("Stopped. Nothing is lost.\n")
        sys.exit(_INTERRUPTED)
