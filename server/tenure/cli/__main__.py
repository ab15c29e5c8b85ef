"""`python -m tenure.cli`: the command line, where the console script is not on the path."""

from tenure.cli.start import main

main()
