from __future__ import annotations

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.orderings.fifo import Fifo


class Myopic(Fifo):
    """Prefers the table whose oldest pending update was released first, and batches all that is pending there.

    It ranks like `fifo`. Its promises hold for whole batches only (Bateni et al. 2009, section 4), so updates are not
    chopped.
    """

    name = "myopic"
    behind = "its oldest update was released later"

    def because(self, candidate: Candidate) -> str:  # noqa: ARG002 - the same words for all
        return "its oldest pending update was released first"
