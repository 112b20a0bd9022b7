"""`python -m rulemem`: the command line."""

from rulemem.cli import main

main()
