"""Key orders: which of the keys with a pending update is served first (Moga et al. 2009, section 5).

One file each. An order says where a key goes among those that wait, from how often it updates and how long others have
waited. It sees no tuples and keeps no queue: that is `freshtide.latest.queues`.
"""

from collections.abc import Callable, Mapping

from freshtide.core.latest import KeyOrder
from freshtide.latest.orders.fifo import Fifo
from freshtide.latest.orders.in_place import InPlace
from freshtide.latest.orders.linecutting import Linecutting
from freshtide.latest.orders.order import Order, Place
from freshtide.latest.statistics import TupleCost

ORDERS: Mapping[KeyOrder, Callable[[TupleCost], Order]] = {
    Fifo.name: lambda _cost: Fifo(),
    InPlace.name: lambda _cost: InPlace(),
    Linecutting.name: Linecutting,
}
"""By name, made from what a tuple costs."""

__all__ = ["ORDERS", "Fifo", "InPlace", "Linecutting", "Order", "Place"]
