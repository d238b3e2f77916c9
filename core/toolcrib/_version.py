"""The version of the toolcrib distribution."""

__version__ = "0.1.0"
