"""A world that fails on purpose: the ports of `freshtide.world`, simulated, and driven by a seed.

The disk is in memory. It keeps what is written and what is durable apart, and a power cut leaves what was durable and
as much of the rest as chance wants. Faults are put where a test wants them. Nothing here is part of what is shipped.
"""
