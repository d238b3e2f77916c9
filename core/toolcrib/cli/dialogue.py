"""What is written to a person at a terminal and read from them, until it is an answer."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from toolcrib.cli.keyboard import Keyboard
from toolcrib.cli.panel import VIEW, Choice, Screen, drawn, pages

_WORDS = {"yes": "y", "no": "n", "view": "v"}


class Dialogue:
    """Shows screens on standard error and reads lines; raises EndOfInput when there are none."""

    def __init__(self, keyboard: Keyboard) -> None:
        self._keyboard = keyboard
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)

    async def choose(self, screen: Screen) -> Choice:
        """Show a screen until one of its choices is made, by its key or number.

        What was typed before the screen stood there, or together with rubbish, chooses nothing.
        """
        self._console.print(drawn(screen, self._console))
        while True:
            self._keyboard.forget()
            typed = await self.line(f"answer ({_keys(screen.choices)}): ")
            choice = _chosen(typed, screen.choices)
            if choice is None:
                self.say(f"{typed!r} is none of the answers." if typed else "Nothing was chosen.")
            elif choice is VIEW:
                await self._view(screen)
                self._console.print(drawn(screen, self._console))
            else:
                return choice

    async def free(self, screen: Screen) -> str:
        """Show a screen until there is an answer to it, which can be anything but nothing."""
        self._console.print(drawn(screen, self._console))
        self._keyboard.forget()
        while True:
            typed = await self.line("answer: ")
            if typed:
                return typed
            self.say("Nothing was typed; Ctrl-D dismisses the question.")

    async def line(self, prompt: str) -> str:
        """A line of text, without blanks around it or control characters."""
        self._console.print(Text(prompt), end="")
        typed = await self._keyboard.line()
        return "".join(c for c in typed if c.isprintable()).strip()

    def say(self, text: str) -> None:
        """A remark on a line of its own."""
        self._console.print(Text(text))

    async def _view(self, screen: Screen) -> None:
        portions = pages(screen, self._console)
        for number, page in enumerate(portions):
            if number and await self.line("Enter shows more, q ends: ") == "q":
                return
            for row in page:
                self._console.print(row)


def _keys(choices: tuple[Choice, ...]) -> str:
    return "/".join(choice.key or str(number) for number, choice in enumerate(choices, 1))


def _chosen(typed: str, choices: tuple[Choice, ...]) -> Choice | None:
    typed = _WORDS.get(typed.lower(), typed.lower())
    for number, choice in enumerate(choices, 1):
        if typed == str(number) or (typed and typed == choice.key):
            return choice
    return None
