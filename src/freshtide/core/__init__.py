"""The words Freshtide speaks: feeds, tables, their graph, cuts, events, commands, costs and errors.

Everything here is plain arithmetic over values, which nobody changes once they are made, except events (`events.py`):
no I/O, no clock, nothing but the standard library, so that every other package can depend on it.
"""
