"""Measures toolcrib against the floor of each job, both in the same run: `python -m benchmarks`."""
