"""Takes 20 seconds to import, and leaves a mark in the folder BROKEN_SLOW_MARKS names."""

import os
import time
from pathlib import Path

from toolcrib import ToolContribution, hookimpl

Path(os.environ["BROKEN_SLOW_MARKS"], "imported").touch()
time.sleep(20)


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(name="BrokenSlow", factory="broken_slow:missing")
