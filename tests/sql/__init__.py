"""Tests of sql: texts in, what is known of them out."""
