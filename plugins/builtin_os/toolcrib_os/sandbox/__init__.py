"""The runtime `sandbox`: this machine's programs, kept away from its secrets and its network."""
