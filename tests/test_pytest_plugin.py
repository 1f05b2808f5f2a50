"""The fixture `tfaudit_gate` in a test suite of its own."""

import subprocess
import sys

SUITE = """
import numpy as np
import tfaudit

LABELS = np.arange(1000) % 10
BEFORE = tfaudit.Predictions.from_top1(LABELS, LABELS)
AFTER = tfaudit.Predictions.from_top1(LABELS, np.where((LABELS == 3) & (np.arange(1000) < 90), 4, LABELS))

def test_same(tfaudit_gate):
    tfaudit_gate(BEFORE, BEFORE)

def test_harmed(tfaudit_gate):
    tfaudit_gate(BEFORE, AFTER)

def test_own_limits(tfaudit_gate):
    tfaudit_gate(BEFORE, AFTER, tfaudit.Limits(overall_drop_pp=10))
"""


def run_suite(folder, *arguments):
    (folder / "test_models.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_limits_are_the_defaults_of_the_gate_or_those_of_the_file(tmp_path):
    code, said = run_suite(tmp_path)
    assert code == 1
    assert "1 failed, 2 passed" in said
    assert "AssertionError: compressed: FAIL, 1,000 examples" in said
    (tmp_path / "pytest.ini").write_text("[pytest]\ntfaudit_gate = limits.toml\n")
    (tmp_path / "limits.toml").write_text("[gate]\nworst_class_drop_pp = 95\n")
    code, said = run_suite(tmp_path)
    assert (code, "3 passed" in said) == (0, True)
    (tmp_path / "limits.toml").write_text("[gate]\nworst_drop = 95\n")
    code, said = run_suite(tmp_path)
    assert code == 4  # pytest's own of a wrong set-up
    assert "ERROR: tfaudit_gate: config: " in said
    assert "worst_drop" in said
