"""Tests of what is in tools/."""
