"""Tests of update streams in virtual time."""
