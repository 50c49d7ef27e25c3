"""Ways of maintaining tables, a file each: what is final at a cut, and how far back an update has to look.

How new rows are computed is in `spark/maintenance`, under the same names. A new way is a file here, a file there and a
line in each list.
"""

from collections.abc import Mapping

from freshtide.core.maintenance.append import Append
from freshtide.core.maintenance.full import Full
from freshtide.core.maintenance.incremental import Incremental
from freshtide.core.maintenance.latest import Latest
from freshtide.core.maintenance.mode import Mode
from freshtide.core.maintenance.partitions import Partitions
from freshtide.core.tables import Maintenance

MODES: Mapping[Maintenance, Mode] = {
    Maintenance.APPEND: Append(),
    Maintenance.PARTITIONS: Partitions(),
    Maintenance.FULL: Full(),
    Maintenance.INCREMENTAL: Incremental(),
    Maintenance.LATEST: Latest(),
}

__all__ = ["MODES", "Mode"]
