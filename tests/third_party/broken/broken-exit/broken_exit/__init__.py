"""Ends the interpreter when it is imported."""

import sys

sys.exit(3)
