"""Feeds as users write them: in feeds/*.yml, or as keyword arguments in Python."""
