"""Tests of runs: what a run begins with and leaves behind."""
