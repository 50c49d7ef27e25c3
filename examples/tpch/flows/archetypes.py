"""The archetypes but for the butterfly, and the combinations of figure 12, as Freshtide ships them."""

from freshtide import Flow
from freshtide.flows import archetypes

DATA = "data"

line = archetypes.line(DATA, into=Flow("line"))
wishbone = archetypes.wishbone(DATA, into=Flow("wishbone"))
primary_flow = archetypes.primary_flow(DATA, into=Flow("primary_flow"))
tree = archetypes.tree(DATA, into=Flow("tree"))
fork = archetypes.fork(DATA, into=Flow("fork"))
lines_tree = archetypes.lines_tree(DATA, into=Flow("lines_tree"))
lines_butterfly = archetypes.lines_butterfly(DATA, into=Flow("lines_butterfly"))
lines_fork = archetypes.lines_fork(DATA, into=Flow("lines_fork"))
