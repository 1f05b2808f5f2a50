"""Which options of `pytest` run the tests marked `nightly`."""

import pytest

pytest_plugins = ["pytester"]

HOOK = """
from tests.builders.nightly import nightly_left_out

def pytest_configure(config):
    for marker in ("slow", "nightly"):
        config.addinivalue_line("markers", marker)

def pytest_collection_modifyitems(config, items):
    left_out = nightly_left_out(config, items)
    items[:] = [item for item in items if item not in left_out]
"""
SUITE = """
import pytest
from tests.builders.nightly import and_nightly

def test_plain(): pass

@pytest.mark.slow
def test_slow(): pass

@pytest.mark.nightly
def test_night(): pass

@pytest.mark.slow
@pytest.mark.parametrize("seed", and_nightly([0], [1, 2]))
def test_seeds(seed): pass
"""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {"test_plain", "test_slow", "test_seeds[0]"}),
        (["-m", "slow"], {"test_slow", "test_seeds[0]"}),
        (["-m", "not slow"], {"test_plain"}),
        (["-m", "nightly"], {"test_night", "test_seeds[1]", "test_seeds[2]"}),
        (
            ["-m", "slow or nightly"],
            {"test_slow", "test_night", "test_seeds[0]", "test_seeds[1]", "test_seeds[2]"},
        ),
        (["test_suite.py::test_night"], {"test_night"}),
        (["test_suite.py::test_seeds[2]"], {"test_seeds[2]"}),
    ],
)
def test_nightly_tests_run_where_they_are_asked_for(pytester, arguments, expected):
    pytester.makeconftest(HOOK)
    pytester.makepyfile(test_suite=SUITE)
    passed, _, failed = pytester.inline_run(*arguments).listoutcomes()
    assert {report.nodeid.partition("::")[2] for report in passed} == expected
    assert not failed
