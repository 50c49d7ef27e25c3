"""Tests of freshtide.latest: queues and memory against plain dictionaries and lists."""
