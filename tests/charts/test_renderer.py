"""The process that draws charts: it may die, and the process that asks lives."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import altair as alt
import pandas as pd
import psutil
import pytest

from tfaudit.charts.renderer import DrawingError, Renderer

FATAL = "cat\a"  # vl-convert aborts on it


def chart(name):
    return (
        alt.Chart(pd.DataFrame({"name": [name], "n": [1]})).mark_bar().encode(x="name:N", y="n:Q")
    )


@pytest.fixture(scope="module")
def draw():
    renderer = Renderer()
    yield renderer
    renderer._end()


def test_a_chart_that_kills_it_is_lost_alone_and_the_next_is_drawn(draw):
    svg = draw("vegalite_to_svg", chart("cat").to_dict())
    with pytest.raises(DrawingError, match="crashed on this one"):
        draw("vegalite_to_svg", chart(FATAL).to_dict())
    assert draw("vegalite_to_svg", chart("cat").to_dict()) == svg


def test_one_process_draws_all_and_one_that_was_killed_costs_no_chart(draw):
    draw("vegalite_to_svg", chart("cat").to_dict())
    (process,) = draw._processes.values()
    draw("vegalite_to_svg", chart("dog").to_dict())
    assert list(draw._processes.values()) == [process]
    process.kill()
    process.wait()
    assert "cat" in draw("vegalite_to_svg", chart("cat").to_dict())


def test_an_interrupt_does_not_mix_up_the_answers(draw, monkeypatch):
    draw("vegalite_to_svg", chart("cat").to_dict())
    with monkeypatch.context() as patch:
        patch.setattr("pickle.load", Mock(side_effect=KeyboardInterrupt))  # while it draws
        with pytest.raises(KeyboardInterrupt):
            draw("vegalite_to_svg", chart("cat").to_dict())
    assert "dog" in draw("vegalite_to_svg", chart("dog").to_dict())


def test_threads_get_their_own_charts(draw):
    names = [f"name {i}" for i in range(12)]
    with ThreadPoolExecutor(4) as threads:
        drawn = list(
            threads.map(lambda name: draw("vegalite_to_svg", chart(name).to_dict()), names)
        )
    assert all(name in svg for name, svg in zip(names, drawn, strict=True))


@pytest.mark.parametrize("ending", ["pass", "os.kill(os.getpid(), 9)"])
def test_it_ends_with_the_process_that_asks(ending):
    code = "import os; from tfaudit.charts.renderer import draw; draw('vegalite_to_svg', {'mark': 'bar', 'data': {}});"
    code += f"print(*[process.pid for process in draw._processes.values()], flush=True); {ending}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    own = [process for process in psutil.process_iter() if process.pid == int(done.stdout)]
    assert not psutil.wait_procs(own, timeout=30)[1]


def test_a_fork_has_its_own(draw):
    draw("vegalite_to_svg", chart("cat").to_dict())
    (parent,) = draw._processes
    assert parent == os.getpid()
    draw._processes = {parent + 1: draw._processes[parent]}  # as after a fork
    try:
        assert "dog" in draw("vegalite_to_svg", chart("dog").to_dict())
        assert len({process.pid for process in draw._processes.values()}) == 2
    finally:
        process = draw._processes.pop(parent + 1)
        process.kill()
        process.communicate()
