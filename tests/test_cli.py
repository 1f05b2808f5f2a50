"""The command line as a person meets it: a process, its words and its exit code."""

import json
import subprocess
import sys

import pytest

from tfaudit import open_store

START = """
import sys
from tfaudit.cli import main
from tfaudit.population import worker_process
worker_process.COMMAND = (*{python}, *worker_process.COMMAND[1:])
sys.argv[0] = "tfaudit"
main()
"""


@pytest.fixture
def tfaudit(warm_python):
    """`tfaudit(*arguments, cwd=None)` is the command; tests of what is installed run it from nothing."""

    def run(*arguments, cwd=None):
        command = [*warm_python, "-c", START.format(python=warm_python), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)

    return run


def test_list_names_the_recipes_and_their_questions_without_tensorflow():
    code = (
        "import sys; from tfaudit.cli import app; app(['list'], standalone_mode=False);"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "digits" in done.stdout
    assert "fashion_mnist_lenet" in done.stdout
    assert "K = 30" in done.stdout


@pytest.mark.slow
def test_a_smoke_run_ends_with_the_table_and_the_report_and_can_be_repeated(tfaudit, tmp_path):
    done = tfaudit("run", "digits", "--smoke", "--population", "1", "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "[18/18]" in done.stdout
    assert "fixed-point int8" in done.stdout
    page = (tmp_path / "runs/digits-smoke/report.html").read_text()
    assert "fixed-point int8" in page
    again = tfaudit("run", "digits", "--smoke", "--population", "1", cwd=tmp_path)
    assert again.returncode == 0
    assert "6 of 6 members exist already" in again.stdout


def write_study(file, variant, population):
    """Write the file of a study that trains for two steps."""
    file.write_text(
        "from tfaudit import Pruned, Study, Training\n"
        "study = Study(name='mine', dataset='digits', model='digits_convnet', training=Training(steps=2), limit=50,\n"
        f"              variants=({variant},), population={population})\n"
    )


@pytest.mark.slow
def test_members_that_fail_are_named_and_the_exit_code_is_1(tfaudit, tmp_path):
    write_study(tmp_path / "mine.py", "Pruned(0.5, layers=('nope',))", population=1)
    done = tfaudit("run", "mine.py", "--workers", "1", cwd=tmp_path)
    assert done.returncode == 1
    assert "member magnitude-0.5-layers=nope/000 failed" in done.stderr
    assert "1 member failed; run the same command again once that is mended" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "Traceback" in json.dumps(list(open_store(tmp_path / "runs/mine").failures().values()))


@pytest.mark.nightly  # `tests/cli/test_until_decided.py` grows simulated populations every day
def test_a_population_grows_until_the_gate_decides_or_to_its_end(tfaudit, tmp_path):
    write_study(tmp_path / "mine.py", "Pruned(0.5)", population=5)
    command = ["run", "mine.py", "--workers", "1", "--until-decided"]
    done = tfaudit(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("look ")]
    assert lines == [  # two steps train nobody
        "look 1 of 2, 3 members: cannot judge yet magnitude 50 %",
        "look 2 of 2, 5 members: cannot judge magnitude 50 %",
    ]
    assert "6 of 10 members exist already" in done.stdout
    again = tfaudit(*command, cwd=tmp_path)
    assert [line for line in again.stdout.splitlines() if line.startswith("look ")] == lines
    assert "10 of 10 members exist already" in again.stdout


@pytest.mark.slow
def test_a_set_that_is_not_prepared_says_which_command_gets_it(tfaudit, tmp_path, monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    done = tfaudit("run", "fashion_mnist_lenet", cwd=tmp_path)
    assert done.returncode == 2
    assert "tfaudit prepare fashion_mnist --from" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
