"""Runs commands of the user's own around calls: to judge them, and to hear of them."""
