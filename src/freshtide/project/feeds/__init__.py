"""Feeds as users write them: in feeds/*.yml, or as keyword arguments in Python.

A module for feeds of files, one for streams of single rows, and what both have: schema and time column. Nothing here
looks at what has landed: that is `freshtide.feeds`, which also knows the options of each format.
"""
