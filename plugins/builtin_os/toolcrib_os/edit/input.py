"""The arguments of Edit."""

from __future__ import annotations

from typing import Annotated

from annotated_types import MinLen
from attrs import frozen
from typing_extensions import Doc


@frozen(kw_only=True)
class EditInput:
    """Which text to replace by which, in which file."""

    path: Annotated[
        str,
        Doc(
            "Path of a text file that exists. A relative path starts at the working directory; a "
            "file outside it needs an absolute path."
        ),
    ]
    old_string: Annotated[
        str,
        MinLen(1),
        Doc(
            "The text to replace, exactly as it is in the file, without the line numbers and tabs "
            "that Read puts in front of lines."
        ),
    ]
    new_string: Annotated[str, Doc("The text to put there. Empty deletes the old one.")]
    replace_all: Annotated[
        bool,
        Doc("Replace every occurrence instead of the only one. Default: false."),
    ] = False
