"""The demo: a network-operations warehouse with data that keeps arriving.

The papers on streaming warehouses take their examples from a network operator's: many feeds, fast and slow, and
views upon views. `template/` is such a warehouse as a Freshtide project; `create_demo` copies it into a folder. A
`Generator` is the network: it writes the files that its pollers and collectors would deliver, for a seed the same
ones each time, and `feed_live` lets it do so as time passes.

It is there to be looked at: nothing but its command knows of it, and nothing that a warehouse needs belongs here.
"""

from freshtide.demo.creation import DemoError, create_demo
from freshtide.demo.generator import Generator, feed_live

__all__ = ["DemoError", "Generator", "create_demo", "feed_live"]
