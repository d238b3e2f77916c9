"""Needs a distribution that is not there."""

import a_module_that_nobody_has_installed  # noqa: F401
