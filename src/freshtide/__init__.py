"""A streaming data warehouse on Apache Spark that keeps every table as fresh as the machines allow."""

__version__ = "0.1.0"
