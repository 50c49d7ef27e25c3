"""The words Freshtide speaks: feeds, tables, their graph, cuts, events, commands, costs and errors.

Everything here is plain arithmetic over immutable values: no I/O, no clock, nothing but the standard
library, so that every other package can depend on it.
"""
