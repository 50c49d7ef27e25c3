"""ETL flows as users write them in flows/, and how they fit together with tables and feeds.

Whether a flow is sound in itself is asked of `freshtide.flows`; here it is read, and held against what else the project
declares. Nothing here runs a flow.
"""
