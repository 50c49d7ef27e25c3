"""Data of TPC-H, generated once for each scale factor."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from freshtide.core.errors import FreshtideError, UsageError

_GENERATOR = "tpchgen-cli"


class NoDataError(FreshtideError):
    """Data that could not be generated."""


def require_scale(scale: float) -> None:
    """Refuse what is no scale factor, before anything is started for it."""
    if not scale > 0.0:
        raise UsageError(f"{scale:g} is no scale factor.", way_out="Choose one above 0; 1 is about 1 GB of text.")


def tpch_data(scale: float, *, cache: Path) -> Path:
    """The folder with a Parquet file for each table, at a scale factor; what is in the cache is not generated again."""
    require_scale(scale)
    folder = cache / f"sf{scale:g}"
    if folder.is_dir():
        return folder
    generator = _generator()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # Under another name until it is whole: a generation that was interrupted leaves nothing that looks like data.
        with tempfile.TemporaryDirectory(dir=cache, prefix=f"{folder.name}-", ignore_cleanup_errors=True) as unfinished:
            _generate(generator, scale, Path(unfinished))
            # Who renames a folder that another has put there meanwhile fails: that one holds the same.
            whole = Path(unfinished)
            if not folder.is_dir():
                whole.rename(folder)
                whole.mkdir()
    except OSError as error:
        raise NoDataError(
            f"TPC-H data cannot be put into {cache}: {error.strerror or error}.", way_out="Choose another folder."
        ) from error
    return folder


def _generator() -> str:
    # Beside this Python, where pip puts it, even if its folder is not on the path.
    beside = shutil.which(_GENERATOR, path=str(Path(sys.executable).parent))
    found = beside or shutil.which(_GENERATOR)
    if found is None:
        raise NoDataError(
            f"TPC-H data cannot be generated: {_GENERATOR} is not installed.",
            way_out="Install it: pip install 'freshtide[tpch]'",
        )
    return found


def _generate(generator: str, scale: float, folder: Path) -> None:
    command = [generator, "parquet", "--scale-factor", f"{scale:g}", "--output-dir", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise NoDataError(
            f"{_GENERATOR} failed at scale factor {scale:g}: {last}",
            way_out="Look for room on the disk, and try it by hand: " + " ".join(command[:-1]) + " FOLDER",
        )
