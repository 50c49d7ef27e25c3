"""Seeds: small files of reference data beside a project, each of which is a table.

A seed is nothing of its own: it becomes a feed whose newest file is all that there is, and a streaming table of its
rows.
"""

from freshtide.project.seeds.folder import SEEDS, declare_seeds, seed_files

__all__ = ["SEEDS", "declare_seeds", "seed_files"]
