"""Grep: what files hold, by regular expression."""
