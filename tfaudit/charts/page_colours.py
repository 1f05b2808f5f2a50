"""The hues of the charts as text of the report and of the viewer, as CSS; without Altair."""

from collections.abc import Mapping

TEXT: Mapping[str, Mapping[str, str]] = {
    "light": {"loss": "#b03c28", "gain": "#156a98", "undecided": "#8a5a00", "accent": "#8e4585"},
    "dark": {"loss": "#f0907d", "gain": "#6cb8e4", "undecided": "#e0a94a", "accent": "#d58fcd"},
}
"""The hues of losses, gains and accents as text, on light and on dark pages: a contrast of 4.5 to 1 or more."""


def css_variables(colours: Mapping[str, str]) -> str:
    """Return colours by name, such as those of a theme of `TEXT`, as CSS variables.

    Example:
        >>> css_variables({"loss": "#b03c28", "gain": "#156a98"})
        '--loss: #b03c28; --gain: #156a98;'
    """
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())
