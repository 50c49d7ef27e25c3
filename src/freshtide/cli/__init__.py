"""Commands: puts everything together and speaks with people.

Exit codes: 0 done, 1 a run failed or a promise is broken, 2 the project or the call is wrong, 130 interrupted.
"""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> None:
    """Run the command line, which is imported here: Ctrl-C may come as early as that."""
    # While they are imported libraries may swallow an interrupt: it is only noted until they are.
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: noted.append(number))
    try:
        from freshtide.cli.app import main as run
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        if noted:
            raise KeyboardInterrupt
        run()
    except (KeyboardInterrupt, SystemExit) as ended:
        # Within a command Typer has made an exit code of it.
        if isinstance(ended, SystemExit) and ended.code != _INTERRUPTED:
            raise
        sys.stderr.write("Stopped. Nothing is lost.\n")
        sys.exit(_INTERRUPTED)
