"""Tests of freshtide.updates: queues and memory against plain dictionaries and lists."""
