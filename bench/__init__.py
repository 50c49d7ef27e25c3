"""Benchmarks: each measures Freshtide against a peer, or against itself, in the same run on the same machine.

A number taken on one machine says little on another, so the results are ratios. `python -m bench` runs them all,
each in a process of its own; `python -m bench latency --quick` runs one, small, to see that it works.
"""
