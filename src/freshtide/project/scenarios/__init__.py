"""Scenarios: warehouses that are only simulated, each in a YAML file."""
