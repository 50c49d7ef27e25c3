"""The ports to the world: the same contract for the real ones and the simulated ones."""
