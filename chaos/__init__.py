"""A campaign of kills against a real warehouse: `python -m chaos`, or `make chaos MINUTES=10 SEED=1`.

A supply of files of all formats goes on while runs of the warehouse are started and killed, at random moments and at
named points. An oracle that shares nothing with Freshtide (polars and DuckDB over the files themselves) then checks
that each row is exactly once where it belongs, that views are their queries and that freshness never went back.
"""
