"""ETL flows as users write them in flows/, and how they fit together with tables and feeds."""
