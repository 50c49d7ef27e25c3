"""The world around a process, as ports: what is asked of it, and the thin real answer."""

from freshtide.world.threads import Condition, Flag, Mailbox, SystemThreads, Task, Threads

__all__ = ["Condition", "Flag", "Mailbox", "SystemThreads", "Task", "Threads"]
