"""The command line, as a user types it: within this process, or in one of its own where that is the point."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from freshtide.cli import main
from freshtide.project import create_starter
from freshtide.spark import SparkTracks

Done = subprocess.CompletedProcess[str]
_WIDTH = {"COLUMNS": "200"}
"""Of a process of its own."""


def freshtide(*words: str, at: Path, **environment: str) -> Done:
    """Type a command within this process: hundreds of them take no time, and a Spark that is there is used."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, chdir(at), redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["freshtide", *words])
        for name, value in environment.items():
            patch.setenv(name, value)
        code: Any = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    return Done(words, code, out.getvalue(), err.getvalue())


def freshtide_process(*words: str, at: Path, **environment: str) -> Done:
    """Type a command that runs in a process of its own, with a Spark of its own if it needs one."""
    return subprocess.run(
        [sys.executable, "-m", "freshtide", *words],
        cwd=at,
        env={**os.environ, **_WIDTH, **environment},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def answer(*words: str, at: Path, code: int = 0) -> Any:
    """What a command prints with --json."""
    done = freshtide(*words, "--json", at=at)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@contextmanager
def leaving_spark_to_others() -> Iterator[None]:
    """Commands within this process find the Spark that is there, and do not stop it when they are done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparkTracks, "stop", lambda _: None)
        yield


def starter_with(folder: Path, file: str, text: str) -> Path:
    """A starter project with something of one's own in it."""
    create_starter(folder, folder.name)
    (folder / file).write_text(text)
    return folder
