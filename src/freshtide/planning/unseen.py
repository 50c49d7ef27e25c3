"""Files that have landed and that no run has seen."""

from __future__ import annotations

from freshtide.catalog import Catalog
from freshtide.core.feeds import Feed
from freshtide.feeds import FolderWatcher, SettledFile
from freshtide.project import Project


def unseen_files(project: Project, catalog: Catalog, now: float) -> tuple[dict[str, dict[str, int]], tuple[str, ...]]:
    """By feed the paths and sizes of files that no run has seen as they are now, and what could not be looked at."""
    found: dict[str, dict[str, int]] = {}
    faults: list[str] = []
    for feed in project.feeds.values():
        if not feed.brings_files:
            found[feed.name] = {}
            continue
        watcher = FolderWatcher(feed, project.root, known=catalog.arrivals.known_paths(feed.name))
        found[feed.name] = {file.path: file.size for file in _settled(watcher, feed, now)}
        faults += [problem.message for problem in watcher.problems]
    return found, tuple(faults)


def _settled(watcher: FolderWatcher, feed: Feed, now: float) -> list[SettledFile]:
    # The second look is as late as a run's would be: what is being written now will be there by then.
    looks = (now, now + feed.folder.settling.quiet)
    return [file for moment in looks for file in watcher.poll(moment) if not file.is_punctuation]
