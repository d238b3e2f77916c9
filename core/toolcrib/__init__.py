"""toolcrib: a plugin framework for the tools of LLM agents."""
