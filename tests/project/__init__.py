"""Tests of what users write: real files in, a project or problems out."""
