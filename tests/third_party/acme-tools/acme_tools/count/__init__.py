"""The tool AcmeCount."""
