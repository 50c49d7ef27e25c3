"""Tests of storage: real Delta tables on disk, read back by other readers."""
