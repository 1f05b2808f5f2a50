"""The plugin for pytest: the fixture `tfaudit_gate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tfaudit.errors import InputError

if TYPE_CHECKING:
    from tfaudit.audits.gate.limits import Limits
    from tfaudit.predictions import Predictions

OPTION = "tfaudit_gate"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of the configuration file."""
    parser.addini(OPTION, "TOML file whose table gate holds the limits of the fixture tfaudit_gate")


def pytest_configure(config: pytest.Config) -> None:
    """Read the limits before any test: a wrong file ends pytest with its code of a wrong set-up, 4."""
    if config.getini(OPTION):
        try:
            _configured(config)
        except InputError as error:
            raise pytest.UsageError(f"{OPTION}: {error}") from None


def _configured(config: pytest.Config) -> Limits:
    from tfaudit.cli.gate_limits import read_limits

    file = config.getini(OPTION)
    return read_limits(config.rootpath / file if file else None)


@pytest.fixture(scope="session")
def tfaudit_gate(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return `tfaudit.testing.assert_no_regression` with limits from the file that the option `tfaudit_gate` names."""
    from tfaudit.testing import assert_no_regression

    configured = _configured(request.config)

    def check(
        before: Predictions, after: Predictions, limits: Limits | None = None, **options: Any
    ) -> None:
        assert_no_regression(
            before, after, limits or configured.for_classes(before.num_classes), **options
        )

    return check
