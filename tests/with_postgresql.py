"""Run a command with FRESHTIDE_TEST_CATALOG naming a PostgreSQL server that lives as long as the command.

python -m tests.with_postgresql pytest tests/catalog
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path


def main(command: list[str]) -> int:
    tools = _tools()
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name  # the server refuses root
    folder = Path(tempfile.mkdtemp(prefix="freshtide-postgresql-"))
    shutil.chown(folder, user)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = str(folder / "data")
    control = [str(tools / "pg_ctl"), "--pgdata", data, "--wait", "--log", str(folder / "log")]
    options = f"-h 127.0.0.1 -p {port} -k {folder}"
    try:
        _run([str(tools / "initdb"), "--pgdata", data, "--username", "freshtide", "--auth", "trust"], user)
        _run([*control, "--options", options, "start"], user)
        try:
            catalog = f"postgresql+psycopg://freshtide@127.0.0.1:{port}/postgres"
            return subprocess.run(
                command, env={**os.environ, "FRESHTIDE_TEST_CATALOG": catalog}, check=False
            ).returncode
        finally:
            _run([*control, "--mode", "immediate", "stop"], user)
    finally:
        shutil.rmtree(folder)


def _tools() -> Path:
    """The folder with the server's programs; Debian keeps them off the PATH."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        sys.exit("PostgreSQL was not found: install its server (on Debian: postgresql).")
    return folders[-1]


def _run(command: list[str], user: str) -> None:
    subprocess.run(command, user=user if os.geteuid() == 0 else None, cwd="/", stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
