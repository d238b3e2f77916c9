"""The arguments of Write."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen
from typing_extensions import Doc


@frozen(kw_only=True)
class WriteInput:
    """What to put into which file."""

    path: Annotated[
        str,
        Doc(
            "Path of the file. A relative path starts at the working directory; a file outside it "
            "needs an absolute path. Missing directories on the way are created."
        ),
    ]
    content: Annotated[
        str,
        Doc(
            "The text, written as it is: no newline is added, no line ending is changed. May be "
            "empty."
        ),
    ]
    mode: Annotated[
        Literal["overwrite", "append"],
        Doc(
            "`overwrite` replaces what the file holds, `append` adds to its end. Either creates a "
            "file that does not exist. Default: overwrite."
        ),
    ] = "overwrite"
