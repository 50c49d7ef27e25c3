"""The world around a process, as ports: what is asked of it, and the thin real answer.

Whoever keeps a promise asks the disk that was handed to it, and nobody asks the system behind its back. So the same
code runs over a disk that loses what was not synced, and that fails when it is told to.
"""

from freshtide.world.clock import Clock, SystemClock
from freshtide.world.disk import Disk, OpenFile, OsDisk, Room, StrPath
from freshtide.world.durability import make_folder, sync_files, sync_tree
from freshtide.world.locks import FileLock, ProcessLock
from freshtide.world.processes import Process, Processes, SystemProcesses
from freshtide.world.questions import files_below, is_folder, names_in, sha256_of
from freshtide.world.threads import Condition, Flag, Mailbox, SystemThreads, Task, Threads

__all__ = [
    "Clock",
    "Condition",
    "Disk",
    "FileLock",
    "Flag",
    "Mailbox",
    "OpenFile",
    "OsDisk",
    "Process",
    "ProcessLock",
    "Processes",
    "Room",
    "StrPath",
    "SystemClock",
    "SystemProcesses",
    "SystemThreads",
    "Task",
    "Threads",
    "files_below",
    "is_folder",
    "make_folder",
    "names_in",
    "sha256_of",
    "sync_files",
    "sync_tree",
]
