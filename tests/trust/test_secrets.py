"""Secrets come from outside of the project and go nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from freshtide.catalog import without_password
from freshtide.core.errors import FreshtideError
from freshtide.project import create_starter
from tests.project.folder import CPU_FEED, CPU_TABLE, ProjectFolder

CANARY = 'canary-Zq7%&"x'
IN_A_FILE = "canary-from-a-file"


@pytest.fixture
def folder(tmp_path: Path) -> ProjectFolder:
    return ProjectFolder(tmp_path)


def test_texts_are_filled_in_from_the_environment_and_from_files(
    folder: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE", "/lake")
    monkeypatch.delenv("NOWHERE", raising=False)
    folder.write("secret.txt", f"{IN_A_FILE}\n")
    folder.write(
        "freshtide.yml",
        """
        name: $${LAKE}
        storage: ${LAKE}/tables
        retention: ${NOWHERE:-7d}
        spark: {spark.hadoop.fs.s3a.secret.key: "${file:secret.txt}"}
        """,
    )
    folder.write("feeds/cpu_feed.yml", CPU_FEED.replace("landing", "${LAKE}"))
    folder.write("tables/cpu.sql", CPU_TABLE)
    project = folder.load()
    assert project.settings.name == "${LAKE}"
    assert project.settings.storage == "/lake/tables"
    assert project.settings.retention == 7 * 86_400.0
    assert project.settings.spark["spark.hadoop.fs.s3a.secret.key"] == IN_A_FILE
    assert project.feeds["cpu_feed"].folder.path == "/lake/cpu/*.csv"


def test_what_is_not_there_is_a_problem_in_its_line(folder: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOWHERE", raising=False)
    folder.write("freshtide.yml", "name: x\nstorage: ${NOWHERE}\ncatalog: ${file:none.txt}\nretention: ${-}\n")
    told = [str(problem) for problem in folder.problems()]
    assert told[0].startswith(
        "freshtide.yml:2: The environment variable NOWHERE is not set. Set it, or write ${NOWHERE:-"
    )
    assert told[1].startswith(f"freshtide.yml:3: The secret in {folder.root / 'none.txt'} cannot be read")
    assert told[2].startswith("freshtide.yml:4: '${-}' cannot be understood. Write ${NAME}")


def test_neither_password_of_a_url_is_shown() -> None:
    shown = without_password("postgresql://me:first@db/shop?password=second&sslpassword=third&connect_timeout=5")
    assert shown == "postgresql://me:***@db/shop?connect_timeout=5&password=***&sslpassword=***"


def test_an_error_does_not_repeat_a_secret(folder: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", CANARY)
    folder.write("freshtide.yml", "name: x\ntracks: ${MY_TOKEN}\n")
    folder.problems()
    assert CANARY not in str(FreshtideError(f"It said {CANARY}.", way_out=f"Not {CANARY}."))


def freshtide(*words: str, at: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "freshtide", *words],
        cwd=at,
        env={**os.environ, "CANARY_PASSWORD": CANARY},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def command_lines(session: int) -> str:
    """Those of all processes that a command has started."""
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(process.name)) == session:
                lines.append((process / "cmdline").read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(lines)


@pytest.mark.slow
def test_a_canary_is_found_nowhere_after_a_run(tmp_path: Path) -> None:
    """Not on a command line, in no file and in nothing that is printed, whether all goes well or not."""
    shop = tmp_path / "shop"
    create_starter(shop, "shop")
    given = tmp_path / "given"
    given.write_text(IN_A_FILE)
    (shop / "freshtide.yml").write_text(
        f"retry: {{attempts: 1}}\nspark:\n  spark.hadoop.canary.password: ${{CANARY_PASSWORD}}\n"
        f"  spark.canary.token: ${{file:{given}}}\n  spark.logConf: true\n"
    )
    (shop / "tables" / "failing.py").write_text(
        "import os\nfrom freshtide import materialized_view\n"
        "calls = []\n"
        "@materialized_view(sources=['orders'])\ndef failing(orders):\n"
        "    calls.append(1)\n"
        "    if len(calls) > 1:\n        raise ValueError('it said ' + os.environ['CANARY_PASSWORD'])\n"
        "    return orders\n"
    )
    printed, seen = "", ""
    for words in (["run", "--once"], ["status", "--json"], ["explain", "failing"], ["doctor"], ["validate", "--debug"]):
        command = freshtide(*words, at=shop)
        while command.poll() is None:
            seen += command_lines(command.pid)
            with suppress(subprocess.TimeoutExpired):
                command.wait(0.2)
        printed += "".join(command.communicate())
    assert "it said" in printed, "the error is told"
    assert "org.apache.spark.deploy.SparkSubmit" in seen
    state = b"".join(path.read_bytes() for path in (shop / ".freshtide").rglob("*") if path.is_file())
    written = state + b"".join(path.read_bytes() for path in (shop / "warehouse").rglob("*") if path.is_file())
    assert b"it said" in state, "the error is written down"
    for canary in (CANARY, IN_A_FILE):
        assert canary not in printed
        assert canary not in seen
        assert canary.encode() not in written
