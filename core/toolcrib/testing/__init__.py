"""Help for tests of tools and plugins: real calls in a real workspace."""

from toolcrib.testing.harness import ToolHarness as ToolHarness

__all__ = ["ToolHarness"]
