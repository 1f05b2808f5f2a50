"""The Python that tests fork behaves as one that is started."""

import subprocess
import sys

import psutil
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "arguments",
    [
        (
            "-c",
            "import os, sys; print(sys.argv, sys.stdin.read(), os.getcwd(), sys.path[0]); os._exit(3)",
            "a",
            "b",
        ),
        ("-P", "-c", "import sys, tempfile; print(sys.path[0], tempfile.gettempdir())"),
        ("-c", "raise SystemExit('no')"),
        ("-c", "import os; os.kill(os.getpid(), 9)"),
        ("-c", "import atexit; atexit.register(print, 'end'); 1 / 0"),
        ("script.py", "a"),
        ("-m", "script", "a"),
    ],
)
def test_it_ends_as_python_does(warm_python, tmp_path, monkeypatch, arguments):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "script.py").write_text("import sys; print(__name__, sys.argv[1:], sys.path[0])")
    ends = []
    for python in ([sys.executable], warm_python):
        done = subprocess.run(
            [*python, *arguments],
            input="hi",
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        said = done.stderr.splitlines()[-1:]
        ends.append((done.returncode, done.stdout.replace(sys.prefix, ""), said))
    assert ends[0] == ends[1]


def test_tensorflow_is_imported_and_nothing_of_tfaudit(warm_python):
    code = (
        "import sys; loaded = {name.split('.')[0] for name in sys.modules}; "
        "print(*sorted({'tensorflow', 'tfaudit', 'tests'} & loaded))"
    )
    assert subprocess.check_output([*warm_python, "-c", code], text=True) == "tensorflow\n"


def test_what_is_killed_runs_no_more(warm_python):
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(300)"
    with subprocess.Popen([*warm_python, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        fork = psutil.Process(int(process.stdout.readline()))
        process.kill()
    assert not psutil.wait_procs([fork], timeout=60)[1]
