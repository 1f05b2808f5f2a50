"""How an outcome of the gate is shown: its word, and the signs beside it in a page, in Markdown and in the terminal."""

import dataclasses
from collections.abc import Mapping

from rich.text import Text

from tfaudit.audits.gate.checks import CANNOT_JUDGE, FAIL, PASS, PASSES_UNCORRECTED


@dataclasses.dataclass(frozen=True)
class OutcomeMark:
    """Signs of one outcome; nothing is shown by colour alone.

    Attributes:
        word: the outcome in text, in capitals unless it passes.
        sign: sign before the word in a page.
        emoji: emoji before the word in Markdown.
        style: style of the word in a terminal, as Rich names it.
    """

    word: str
    sign: str
    emoji: str
    style: str

    def __str__(self) -> str:
        """Return sign and word."""
        return f"{self.sign} {self.word}"

    @property
    def markdown(self) -> str:
        """Emoji and word."""
        return f"{self.emoji} {self.word}"

    def in_terminal(self, text: str = "") -> Text:
        """Return the word, or another text, in the style of the outcome."""
        return Text(text or self.word, style=self.style)


MARKS: Mapping[str, OutcomeMark] = {
    FAIL: OutcomeMark("FAIL", "✗", "❌", "bold red"),
    CANNOT_JUDGE: OutcomeMark("CANNOT JUDGE", "?", "⚠️", "bold yellow"),
    PASSES_UNCORRECTED: OutcomeMark("passes uncorrected", "✓", "⚠️", "bold yellow"),
    PASS: OutcomeMark("pass", "✓", "✅", "green"),
}
"""Marks by outcome of a check or of a variant, the gravest first."""
