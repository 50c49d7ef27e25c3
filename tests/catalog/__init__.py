"""Tests of the catalog, on SQLite unless FRESHTIDE_TEST_CATALOG names another database."""
