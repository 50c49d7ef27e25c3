"""`python -m freshtide`."""

from freshtide.cli import main

main()
