"""What those who work on Freshtide run besides the tests: locks of the dependencies, and a contract for import-linter.

Nothing in here is installed with Freshtide or imported by it.
"""
