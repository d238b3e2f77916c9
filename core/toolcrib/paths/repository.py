"""Where the git repository around a folder begins."""

from __future__ import annotations

import os
from pathlib import Path


def repository_root(folder: Path) -> Path:
    """The top of the git repository around a folder; without one, the folder itself."""
    around = (folder, *folder.parents)
    return next((one for one in around if os.path.exists(one / ".git")), folder)
