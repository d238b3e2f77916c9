"""Words for failed file operations."""

from __future__ import annotations

import errno
import os

import pytest

from toolcrib_os.shared.fserrors import fs_failure


@pytest.mark.parametrize(
    "code", [errno.ENOENT, errno.ENOSPC, errno.EROFS, errno.ELOOP, errno.EMFILE, errno.EPROTO]
)
def test_path_operation_reason_and_code_are_told(code: int) -> None:
    message = fs_failure("write", "some/a.txt", OSError(code, os.strerror(code)))
    assert "write" in message and "'some/a.txt'" in message and errno.errorcode[code] in message


def test_paths_that_cannot_be_are_explained() -> None:
    for path in ("nul\0", "surrogate\ud800"):
        with pytest.raises(ValueError) as raised:
            os.stat(path)
        assert repr(path) in fs_failure("read", path, raised.value)
