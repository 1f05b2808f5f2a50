"""What bash gets when a person presses the tab key."""

import os
import subprocess
import sys

import pytest

from tests.builders.studies import make_study


@pytest.fixture
def offered(tmp_path, monkeypatch):
    """`offered("tfaudit run ci")` is what the shell offers for the last word."""
    monkeypatch.chdir(tmp_path)

    def ask(line):
        words = line.split(" ")
        asked = {"_TFAUDIT_COMPLETE": "complete_bash", "COMP_WORDS": line}
        asked["COMP_CWORD"] = str(len(words) - 1)
        command = [
            sys.executable,
            "-c",
            "import sys; sys.argv = ['tfaudit']; from tfaudit.__main__ import main; main()",
        ]
        done = subprocess.run(
            command, env={**os.environ, **asked}, capture_output=True, text=True, check=False
        )
        assert not done.stderr
        return done.stdout.split()

    return ask


def test_recipes_and_files(offered, tmp_path):
    (tmp_path / "cif_own.py").touch()
    told = offered("tfaudit run cif")
    assert {"cifar10_pretrained", "cif_own.py"} <= set(told)
    assert all(word.startswith("cif") for word in told)


def test_variants_of_the_study(offered, tmp_path):
    make_study(tmp_path / "study")
    assert offered("tfaudit gate study --variant ") == ["int8", "magnitude-0.9"]
    assert offered("tfaudit gate nowhere --variant i") == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tfaudit run digits --engine l", ["local"]),
        ("tfaudit gate --preprocess c", ["caffe"]),
        ("tfaudit audit --scores-are l", ["logits"]),
        ("tfaudit doc", ["doctor"]),
    ],
)
def test_values_of_options(offered, line, words):
    assert offered(line) == words
