"""Tests of the simulated world: it must be as bad as the real one, and no worse than that can be."""
