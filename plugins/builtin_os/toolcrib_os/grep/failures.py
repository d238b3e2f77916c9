"""Says what was wrong with a pattern, and what to do about it."""

from __future__ import annotations

from toolcrib_os.grep.input import GrepInput

_MAX_CHARS = 2_000


def failure_text(args: GrepInput, failure: str) -> str:
    """The message for a search that could not be done; `failure` is the engine's own."""
    lines = failure.splitlines()
    errors = [line for line in lines if line.startswith("error:")]
    reason = (errors or lines)[0].removeprefix("error:").strip()
    detail = failure if len(failure) <= _MAX_CHARS else failure[:_MAX_CHARS] + " [...]"
    if not errors and "regex" not in failure:
        return (
            f"The search failed: {reason}\n{detail}"
            if reason != detail
            else (f"The search failed: {reason}")
        )
    hint = _hint(args, failure)
    return f"The pattern {args.pattern!r} cannot be used: {reason}. {hint}\n{detail}"


def _hint(args: GrepInput, failure: str) -> str:
    if "look-around" in failure or "backreference" in failure:
        return (
            "Search for a simpler pattern that finds more, and judge the lines yourself, or use "
            "`grep -P` with Bash."
        )
    if '"\\n" is not allowed' in failure:
        return "Set multiline to true to match across lines."
    if "not supported by the Python engine" in failure:
        return "No ripgrep was found on this machine, and the engine used instead lacks this."
    return (
        "To search for it as plain text set fixed_strings to true; in a regular expression put a "
        r"backslash before special characters that are meant literally: \( \[ \{ \*."
    )
