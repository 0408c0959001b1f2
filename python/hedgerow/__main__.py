"""`python -m hedgerow` is the `hedgerow` command."""

from hedgerow.cli import main

main()
