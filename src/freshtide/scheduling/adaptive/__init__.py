"""The Adaptive Update Scheduler: reserved shares of the tracks, and recovery mode after outages (Leontyev et al. 2010).

Each table has a reservation: one update per period, ordered by deadlines over all tracks. A table that has fallen
behind may enter recovery mode, in which its period is shorter, as long as all reservations together fit on the tracks;
the tables that have not fallen behind keep theirs, and with them their bounds. The bounds themselves are in
`guarantees`.
"""

from freshtide.scheduling.adaptive.adaptation import Adaptation
from freshtide.scheduling.adaptive.reservation import Mode, ReservationView
from freshtide.scheduling.adaptive.settings import Adaptive

__all__ = ["Adaptation", "Adaptive", "Mode", "ReservationView"]
