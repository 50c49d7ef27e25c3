"""Tests of planning: what is promised and predicted, from a real catalog and project."""
