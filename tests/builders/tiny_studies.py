"""A study that runs in seconds, and a script that runs a study and can be killed."""

import json
import subprocess
import sys
import time

import psutil

from tfaudit import Pruned, Quantized, Study, Training
from tfaudit.population import worker_process

STUDY = Study(
    name="tiny",
    dataset="digits",
    model="digits_convnet",
    training=Training(steps=12, batch_size=32),
    variants=(Pruned(0.5), Quantized("int8")),
    population=2,
    limit=120,
    model_options={"filters": [4], "units": 8},
)
SCRIPT = """
import json, sys
from tfaudit import Study, run
from tfaudit.population import worker_process
worker_process.COMMAND = tuple(sys.argv[3:]) or worker_process.COMMAND
run(Study.from_json(json.loads(sys.argv[1])), sys.argv[2], workers=2)
"""


def started(study, directory):
    """Start a run in a process of its own, whose workers are those of the test."""
    arguments = [json.dumps(study.to_json()), str(directory), *worker_process.COMMAND]
    return subprocess.Popen([sys.executable, "-c", SCRIPT, *arguments])


def wait_for(condition, seconds=300):
    """Wait until a condition holds; a busy machine takes its time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def is_gone(process):
    """Whether a process has ended, even if its parent has not asked how."""
    try:
        return psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def stamps(directory, pattern):
    """Return when each file was written that matches a pattern."""
    return {
        path.relative_to(directory): path.stat().st_mtime_ns
        for path in sorted(directory.glob(pattern))
        if path.is_file()
    }


def write_recipe(folder, study):
    """Write a study as a recipe of the command line, and return its path."""
    text = json.dumps(study.to_json())
    path = folder / "recipe.py"
    path.write_text(
        f"import json\nfrom tfaudit import Study\nstudy = Study.from_json(json.loads({text!r}))"
    )
    return path
