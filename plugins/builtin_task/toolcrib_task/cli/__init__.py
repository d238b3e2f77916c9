"""`toolcrib tasks`: the background tasks of all sessions, for people."""
