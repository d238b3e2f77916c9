"""Failed file operations in words that a model can act on."""

from __future__ import annotations

import errno
import os

FsError = OSError | ValueError
"""What file operations raise: ValueError covers null bytes and names that cannot be encoded."""

_REASONS = {
    errno.ENOENT: "it does not exist",
    errno.EISDIR: "it is a directory",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.EEXIST: "it exists already",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied: the operation is not permitted",
    errno.ENOTEMPTY: "the directory is not empty",
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than is allowed",
    errno.EROFS: "the file system is read-only",
    errno.ELOOP: "it is, or passes through, a symbolic link that may not be followed",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EMFILE: "too many files are open in this process: try again later",
    errno.ENFILE: "too many files are open on this machine: try again later",
    errno.ENXIO: "it is a pipe or device without anyone at the other end",
    errno.ETXTBSY: "it is a program that is running",
    errno.EBUSY: "it is in use",
    errno.EXDEV: "source and target are on different file systems",
    errno.EIO: "the disk reported an input/output error",
    errno.ESTALE: "the network file system no longer knows it",
    errno.ENOMEM: "out of memory",
}


def fs_reason(error: FsError) -> str:
    """Why an operation failed, as the end of a sentence, with the system's code."""
    if isinstance(error, UnicodeEncodeError):
        return "the name holds characters that no file name can hold"
    if not isinstance(error, OSError):
        return f"the path is invalid ({error})"
    if error.errno is None:
        return str(error) or type(error).__name__
    name = errno.errorcode.get(error.errno, f"error {error.errno}")
    reason = _REASONS.get(error.errno) or os.strerror(error.errno).lower()
    return f"{reason} ({name})"


def fs_failure(operation: str, path: str, error: FsError) -> str:
    """The message for a failed operation: what was tried, on what (the path as given), and why."""
    return f"cannot {operation} {path!r}: {fs_reason(error)}"
