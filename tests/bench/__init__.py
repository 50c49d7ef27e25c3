"""Tests of what benchmarks compute by themselves: their input, and figures from what they noted."""
