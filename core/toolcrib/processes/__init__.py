"""Processes that toolcrib starts: run, found with all their descendants, ended, told apart."""
