"""The tool AcmeShout."""
