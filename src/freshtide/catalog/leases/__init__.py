"""Who may run a warehouse: a lease with a number, its epoch, that is higher with each grant.

The lease is bound to what a run changes. It is written down in two seats: a folder beside the tables, which everybody
who writes there finds whichever project it comes from, and the catalog. A run holds both. Each holder shows by a
heartbeat that it lives. Another process takes the lease over when the holder is proven to be dead, or when no heartbeat
was seen for longer than the lease lasts, on the clock of the one that waits. In the second case the holder may only
sleep: it finds a higher epoch when it wakes, its commits to tables fail on the fences that its successor has put there,
and the catalog refuses what it writes. The fences themselves are laid by `storage`.
"""

from freshtide.catalog.leases.folder import lease_folder
from freshtide.catalog.leases.holders import Holder
from freshtide.catalog.leases.lease import RunLease, WarehouseBusyError
from freshtide.catalog.leases.presence import RunLock

__all__ = ["Holder", "RunLease", "RunLock", "WarehouseBusyError", "lease_folder"]
