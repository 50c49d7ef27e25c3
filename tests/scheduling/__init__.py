"""Tests of scheduling: events in, commands out."""
