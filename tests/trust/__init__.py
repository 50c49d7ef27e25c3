"""Faults, injected: nothing is lost, doubled or bent, and nothing stays stuck."""
