"""Progress of a search: a line per candidate that was tried, what is left out, and the time that is left."""

import io

import pytest
from rich.console import Console

from tfaudit.extensions.search import progress as module
from tfaudit.extensions.search.candidates import Candidate, channel_pruning
from tfaudit.extensions.search.progress import CONVERTING, TRAINING, PrintedProgress
from tfaudit.extensions.search.smallest_file import NO_FILE, NOT_TRIED
from tfaudit.extensions.search.trials import Trial


def trial(outcome, size):
    return Trial(outcome, "", size, b"content")


def quick(name):
    return CONVERTING, name


@pytest.fixture
def display(monkeypatch):
    """Gives a display whose clock shows some seconds, one after the other, and what it prints."""

    def made(*seconds):
        clock = iter(seconds)
        monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))
        printed = io.StringIO()
        return PrintedProgress(Console(file=printed, width=100)), printed

    return made


def test_lines_and_the_time_that_is_left(display):
    # a conversion of 2 s, a training with one of 32 s
    progress, printed = display(0, 2, 10, 42, 42, 43)
    half, most = (channel_pruning(level, ["a"]) for level in (0.5, 0.9))
    plan = [Candidate("int8"), Candidate("int8", most), Candidate("float16", most)]
    plan.append(Candidate("int8", half))
    trained = [(TRAINING, "most"), (TRAINING, "most"), (TRAINING, "half")]
    failed = Trial(NOT_TRIED, "Fails before it is quantized: so.")
    with progress:
        progress.begin(plan)
        progress.start(plan[0], quick("int8"))
        progress.end(plan[0], trial("pass", 4096), trained)
        progress.start(plan[1], trained[0])
        progress.end(plan[1], failed, trained[2:])
        progress.end(plan[2], failed, trained[2:])
        progress.end(plan[3], trial("fail", 1000))
    assert printed.getvalue().splitlines() == [
        "At most 4 candidates, 2 models to fine-tune; those that cannot be smaller than one that passes are left out.",
        "[1/4] int8: pass, 4,096 bytes",  # how long a training takes is unknown yet
        "[2/4] fine-tuning int8, 90 % fewer channels",  # said when it begins, for it may take long
        "[2/4] int8, 90 % fewer channels: left out. Fails before it is quantized: so, at most about 32 s left",
        "[3/4] 1 left out",
        "[4/4] int8, 50 % fewer channels: fail, 1,000 bytes, made earlier",
    ]


def test_the_bar_shows_the_smallest_file_that_passes_so_far(display):
    progress, _ = display(0, 2, 3, 5, 6, 7)
    plan = [Candidate("float16"), Candidate("int8"), Candidate("int4")]
    progress.begin(plan)
    states = []
    for candidate, outcome, size in zip(plan, ("pass", "pass", "fail"), (80, 44, 26), strict=True):
        progress.start(candidate, quick(candidate.key))
        progress.end(candidate, trial(outcome, size))
        states.append(progress.bar.tasks[0].fields["state"])
    best = "smallest that passes so far: {} bytes"
    assert states == [best.format(one) for one in ("float16, 80", "int8, 44", "int8, 44")]


def test_a_file_that_may_ship_is_shown_at_once(display):
    progress, printed = display()
    progress.begin([Candidate("int8")])
    progress.judged(Candidate("int8"), 1400)
    line = "int8 passes on the 1,400 examples that judge it."
    assert printed.getvalue().splitlines()[1] == line


def test_a_candidate_without_a_file_says_why(display):
    progress, printed = display(0, 2)
    progress.begin([Candidate("int4")])
    progress.start(Candidate("int4"), quick("int4"))
    progress.end(Candidate("int4"), Trial(NO_FILE, "kind 'int4': got no quantizer."))
    line = "[1/1] int4: no file (kind 'int4': got no quantizer)"
    assert printed.getvalue().splitlines()[1] == line


@pytest.mark.parametrize(
    ("rest", "ends", "left"),
    [
        ([(TRAINING, "aware")], None, ""),  # how long a training takes is unknown
        ([(TRAINING, "aware")], 1000.0, ", at most about 16 min 38 s left"),
        ([(TRAINING, "aware")], 20.0, ", at most about 18 s left"),
        ([(TRAINING, "aware")], 1.0, ""),
        ([quick("a"), quick("b")], None, ", at most about 4 s left"),
    ],
)
def test_the_budget_and_what_may_still_be_tried_bound_the_time_that_is_left(
    display, rest, ends, left
):
    progress, printed = display(0, 2)
    plan = [Candidate("int8"), *(Candidate("int8", percentile=p) for p in (99.9, 99.99, 99.999))]
    progress.begin(plan, ends)
    progress.start(plan[0], quick("int8"))
    progress.end(plan[0], trial("fail", 4096), rest)
    assert printed.getvalue().splitlines()[1] == f"[1/4] int8: fail, 4,096 bytes{left}"
