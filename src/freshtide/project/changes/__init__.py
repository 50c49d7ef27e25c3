"""Two versions of a project compared: what a running warehouse would have to change to be the other one."""

from freshtide.project.changes.changes import Change, Changes, PropertyChange, Subject, What
from freshtide.project.changes.comparison import changes_between
from freshtide.project.changes.content import digest_of

__all__ = ["Change", "Changes", "PropertyChange", "Subject", "What", "changes_between", "digest_of"]
