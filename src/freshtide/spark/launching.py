"""Starting the JVM with its settings in a file that only this user can read.

PySpark would put them on the command line, which everybody on the machine can see, keys of object stores and all.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"


def launch(settings: Mapping[str, str]) -> None:
    """Start the JVM, unless there is one: memory, class path and packages are settled when it starts.

    Settings that a session is made with afterwards reach it through a socket.
    """
    if SparkContext._gateway is not None:
        return
    with _settings_file(settings) as file:
        before = os.environ.get(_ARGUMENTS)
        rest = before or "pyspark-shell"
        os.environ[_ARGUMENTS] = f"--properties-file {shlex.quote(str(file))} --load-spark-defaults {rest}"
        try:
            SparkContext._ensure_initialized()
        finally:
            if before is None:
                del os.environ[_ARGUMENTS]
            else:
                os.environ[_ARGUMENTS] = before


@contextmanager
def _settings_file(settings: Mapping[str, str]) -> Iterator[Path]:
    # Both the folder and the file are made for this user alone. The JVM has read it once it answers.
    with tempfile.TemporaryDirectory(prefix="freshtide-") as folder:
        file = Path(folder) / "spark.properties"
        file.touch(mode=0o600)
        file.write_text("".join(f"{_key(name)}={_value(text)}\n" for name, text in settings.items()), encoding="utf-8")
        yield file


def _key(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\ =:#!" else letter for letter in text)


def _value(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")
    return f"\\{escaped}" if escaped.startswith(" ") else escaped
