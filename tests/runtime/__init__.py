"""Tests of core: arithmetic on instants, cuts, loads, costs and graphs."""
