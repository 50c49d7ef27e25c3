"""Scenarios: warehouses that are only simulated, each in a YAML file.

Here they are read and checked, and `freshtide.simulation` runs them. Their tables have costs and arrivals and no rows,
so they have nothing in common with the tables of a project but the notation and the settings of the scheduler.
"""
