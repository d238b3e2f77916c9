"""`python -m toolcrib`."""

from toolcrib.cli.main import main

main()
