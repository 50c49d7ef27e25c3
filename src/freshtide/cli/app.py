"""The command line."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Annotated

import typer
from rich.markup import escape

from freshtide import __version__
from freshtide.cli import (
    applying,
    authoring,
    controlling,
    demo,
    experimenting,
    feeds,
    flowruns,
    flows,
    planning,
    reports,
    running,
    simulating,
    traces,
)
from freshtide.cli.output import errors, fail
from freshtide.core.errors import FreshtideError, ProjectError, UsageError

app = typer.Typer(
    name="freshtide",
    help="A streaming data warehouse on Apache Spark that keeps every table as fresh as the machines allow.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
authoring.register(app)
planning.register(app)
running.register(app)
applying.register(app)
reports.register(app)
simulating.register(app)
experimenting.register(app)
controlling.register(app)
demo.register(app)
app.add_typer(feeds.app, name="feeds")
flowruns.register(flows.app)
app.add_typer(flows.app, name="flow")
app.add_typer(traces.app, name="trace")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"freshtide {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    debug: Annotated[bool, typer.Option("--debug", help="Show Python tracebacks of errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of all commands. `--debug` is looked up where errors are reported."""


def _show_traceback(*, wanted: bool) -> None:
    """Through our own printing: Python's would show secrets, and send names of files to the terminal as they are."""
    if wanted:
        errors.print(escape(traceback.format_exc()), soft_wrap=True)


def main() -> None:
    """Run a command; errors a user can act on become messages and exit codes."""
    debug = "--debug" in sys.argv
    # Libraries log what reaches us as an exception; with nobody to listen they would print it, tracebacks and all.
    logging.getLogger().addHandler(logging.NullHandler())
    if debug:
        # Wherever it stands: `freshtide run --debug` is what people type.
        sys.argv = [sys.argv[0], "--debug", *(word for word in sys.argv[1:] if word != "--debug")]
        # Failures of updates are told by a run that goes on, and say in one line what they have to say.
        logging.getLogger("freshtide").addHandler(logging.StreamHandler())
    try:
        app()
    except FreshtideError as error:
        _show_traceback(wanted=debug)
        fail(error)
        sys.exit(2 if isinstance(error, ProjectError | UsageError) else 1)
    except Exception as error:
        _show_traceback(wanted=debug)
        first_line = (str(error).splitlines() or [""])[0]
        message = f"Something unexpected went wrong: {type(error).__name__}: {first_line}"
        fail(FreshtideError(message, way_out="Run the command again with --debug to see where."))
        sys.exit(1)
