"""The locks of the dependencies: `make lock` writes them, `make audit-dependencies` checks what is installed.

`constraints.txt` names the versions. The lock adds the hashes of all files that the index has of each, for every
platform: pip then installs nothing else. The index is the one that pip is set up for.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
LOCKS = {kind: ROOT / "locks" / f"{kind}.txt" for kind in ("build", "run", "dev")}
_HEADER = "# Written by `make lock`: the versions of constraints.txt with the hashes of their files. Do not edit.\n"
_PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)")
_OURSELVES = "freshtide"
# What installs, what builds pyspark, which comes as sources, and what links a working tree into an installation.
_INSTALLERS = ("pip", "setuptools", "editables")


def pins(file: Path) -> dict[str, Version]:
    """The versions that a file pins, by name."""
    found = (_PIN.match(line) for line in file.read_text(encoding="utf-8").splitlines())
    return {canonicalize_name(pin["name"]): Version(pin["version"]) for pin in found if pin}


def lock() -> None:
    versions = pins(CONSTRAINTS)
    hashes: dict[str, list[str]] = {}
    project = _project()
    to_build = needed([*_INSTALLERS, *project["build-system"]["requires"]])
    for kind, chosen in (
        ("build", to_build),
        ("run", needed(project["project"]["dependencies"])),
        ("dev", set(versions)),
    ):
        text = _HEADER
        for name in sorted(chosen):
            hashes.setdefault(name, sorted(hashes_of(name, versions[name])))
            text += (
                f"{name}=={versions[name]}" + "".join(f" \\\n    --hash=sha256:{each}" for each in hashes[name]) + "\n"
            )
        LOCKS[kind].parent.mkdir(exist_ok=True)
        LOCKS[kind].write_text(text, encoding="utf-8")
        sys.stdout.write(f"{LOCKS[kind].relative_to(ROOT)}: {len(chosen)} packages\n")


def needed(requirements: Iterable[str]) -> set[str]:
    """These, and what they need in turn, as pip would install them within the constraints."""
    words = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-", "--constraint", str(CONSTRAINTS)]
    report = json.loads(_pip(*words, *requirements))
    return {canonicalize_name(item["metadata"]["name"]) for item in report["install"]}


def _pip(*words: str) -> str:
    command = [sys.executable, "-m", "pip", *words]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def hashes_of(name: str, version: Version) -> set[str]:
    """Of all files that the index has of a version."""
    found = {sha for file, sha in _files(name) if _version(file) == version}
    if not found:
        raise SystemExit(f"The index has no file of {name}=={version} with a hash.")
    return found


def _files(name: str) -> Iterator[tuple[str, str]]:
    for index in _indexes():
        try:
            with urllib.request.urlopen(
                f"{index.rstrip('/')}/{name}/{'index.html' * index.startswith('file:')}"
            ) as page:
                text = page.read().decode()
        except OSError:
            continue  # not every index has every package
        links = _Links()
        links.feed(text)
        for link in links.found:
            path, _, fragment = link.partition("#sha256=")
            if fragment:
                yield unquote(path.rpartition("/")[2]), fragment


class _Links(HTMLParser):
    """The links of a page of the index, in the form that all of them have (PEP 503)."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [unescape(value) for key, value in attrs if tag == "a" and key == "href" and value]


def _indexes() -> list[str]:
    """As pip is set up, and pip's own where it is not."""
    from pip._internal.models.index import PyPI

    listed = _pip("config", "list")
    settings: Mapping[str, str] = dict(
        re.findall(r"^(?:global|install|:env:)\.((?:extra-)?index-url)='(.*)'$", listed, re.MULTILINE)
    )
    return [settings.get("index-url", PyPI.simple_url), *settings.get("extra-index-url", "").split()]


def _version(file: str) -> Version | None:
    try:
        return parse_wheel_filename(file)[1] if file.endswith(".whl") else parse_sdist_filename(file)[1]
    except ValueError:
        return None


def audit() -> None:
    """Everything that is installed is pinned with hashes, and every pin is within the ranges of pyproject.toml."""
    problems = [*_unlocked(), *_out_of_range(), *_unhashed()]
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    if problems:
        raise SystemExit(1)
    sys.stdout.write("Everything that is installed is locked, with hashes, and within the ranges of pyproject.toml.\n")


def _unlocked() -> Iterator[str]:
    locked = pins(LOCKS["dev"])
    for distribution in importlib.metadata.distributions():
        name, version = canonicalize_name(distribution.name), Version(distribution.version)
        if name == _OURSELVES:
            continue
        if name not in locked:
            yield f"{name} {version} is installed, and not in {LOCKS['dev'].relative_to(ROOT)}."
        elif locked[name] != version:
            yield f"{name} {version} is installed, and {locked[name]} is locked."


def _out_of_range() -> Iterator[str]:
    project = _project()
    extras = project["project"]["optional-dependencies"].values()
    groups = project["dependency-groups"].values()
    listed = [project["project"]["dependencies"], *extras, *groups]
    locked = pins(LOCKS["dev"])
    for requirement in (Requirement(text) for texts in listed for text in texts):
        version = locked.get(canonicalize_name(requirement.name))
        if version is None:
            yield f"{requirement.name} is not in {LOCKS['dev'].relative_to(ROOT)}: run `make lock`."
        elif not requirement.specifier.contains(version):
            yield f"{requirement.name} {version} is locked, and pyproject.toml asks for {requirement.specifier}."


def _unhashed() -> Iterator[str]:
    versions = pins(CONSTRAINTS)
    for file in LOCKS.values():
        text = file.read_text(encoding="utf-8")
        for name, version in pins(file).items():
            block = re.search(rf"^{re.escape(name)}==\S+ \\\n    --hash=sha256:[0-9a-f]{{64}}", text, re.MULTILINE)
            if block is None:
                yield f"{name} has no hash in {file.relative_to(ROOT)}."
            if versions.get(name) != version:
                yield f"{name} {version} is in {file.relative_to(ROOT)} and not in constraints.txt: run `make lock`."


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    {"lock": lock, "audit": audit}[sys.argv[1]]()
