"""A runtime: this machine, where only one folder may be written."""
