"""Tests of simulation: workloads in, staleness out."""
