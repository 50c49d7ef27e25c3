"""Tests of observe: what users are told, from a real catalog and project."""
