"""`python -m tenure.server`: the command line, where the console script is not on the path."""

from tenure.server.cli import main

main()
