"""Samples of lm-evaluation-harness (`lm_eval --log_samples`), as a table of outcomes.

A run writes `results_TIME.json`, and `samples_TASK_TIME.jsonl` with a line per document and filter. `doc_id` begins
again in every task and may be wrong under `--samples`, and equal documents share a hash: a document is known by its
task, its hash, and how often the hash came before.
"""

from __future__ import annotations

import collections
import json
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd

from tfaudit.errors import InputError, listed
from tfaudit.readers.json_lines import read_json_lines

TEXTS = ("prompt", "expected", "answer")
"""Columns of the texts of a document: the prompt, the right answer, and that of the model; empty where unknown."""

SEALS = ("prompt_hash", "target_hash")
"""Columns by which two runs show that their documents are the same."""

_SAMPLES = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+)\.jsonl")
_RESULTS = re.compile(r"results_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+)\.json")


def is_lm_run(path: Path) -> bool:
    """Return whether a path is a folder with samples of the harness, or the `results_TIME.json` of one run."""
    if path.is_dir():
        return any(path.rglob("samples_*.jsonl"))
    return bool(_RESULTS.fullmatch(path.name))


def read_lm_samples(path: Path, metric: str, filter: str | None) -> pd.DataFrame | None:
    """Read the samples of one run, in the order of its tasks and documents; None if a path holds none.

    Args:
        path: folder of the run, or its `results_TIME.json` if the folder holds several runs.
        metric: metric in [0, 1] of every document, such as `acc`, which some or all tasks have.
        filter: filter of the answers, if a task has several.

    Returns:
        A frame with the columns `id`, the metric, `task`, the hashes of `SEALS`, and the texts of `TEXTS`.

    Raises:
        InputError: several runs, filters or metrics of which none is chosen; a metric that is no outcome; files that
            were damaged or written by an old version.
    """
    if not is_lm_run(path):
        return None
    files = _files_of_run(path)
    results = _results(path, files)
    frames = []
    absent: dict[str, list[str]] = {}
    for task, file in files.items():
        lines = _lines(file)
        metrics = _metrics(file, lines)
        if metric not in metrics:
            absent[task] = metrics
            continue
        chosen = _of_filter(file, lines, filter)
        frame = _frame(file, task, chosen, metric)
        _check_results(file, task, frame[metric], metric, chosen[0].get("filter", "none"), results)
        frames.append(frame)
    if not frames:
        known = "; ".join(f"{task}: {listed(names) or 'none'}" for task, names in absent.items())
        raise InputError(str(path), f"no task with the metric {metric} ({known})", "one of these")
    frame = pd.concat(frames, ignore_index=True)
    frame.attrs |= {"texts": TEXTS, "seals": SEALS}
    if absent:
        frame.attrs["note"] = f"{path}: tasks without {metric} are left out: {listed([*absent])}."
    return frame


def _files_of_run(path: Path) -> dict[str, Path]:
    """Return the files of samples of one run by task."""
    folder = path if path.is_dir() else path.parent
    time = None if path.is_dir() else _RESULTS.fullmatch(path.name)
    files: dict[str, dict[str, Path]] = collections.defaultdict(dict)
    for file in sorted(folder.rglob("samples_*.jsonl")):
        match = _SAMPLES.fullmatch(file.name)
        if match is None:
            raise InputError(str(file), "a name without task and time", "samples_TASK_TIME.jsonl")
        if time is None or time[1] == match[2]:
            files[match[1]][match[2]] = file
    if not files:
        raise InputError(str(path), "no samples", "a run with --log_samples")
    runs = sorted({run for by_run in files.values() for run in by_run})
    if len(runs) > 1:
        expected = f"one run; name its file, such as {folder / f'results_{runs[-1]}.json'}"
        raise InputError(str(path), f"runs of {listed(runs)}", expected)
    return {task: by_run[runs[0]] for task, by_run in files.items()}


def _results(path: Path, files: dict[str, Path]) -> dict[str, Any]:
    """Return what the run wrote about its results; empty without that file."""
    time = _SAMPLES.fullmatch(next(iter(files.values())).name)
    assert time is not None
    file = next(iter(files.values())).with_name(f"results_{time[2]}.json")
    if not file.exists():
        return {}
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise InputError(str(file), "a damaged or unreadable file", "JSON in UTF-8") from None


def _lines(file: Path) -> list[dict[str, Any]]:
    """Return the lines of a file, each a document whose hashes tell it apart."""
    rows = read_json_lines(file)
    for hashed in ("doc_hash", *SEALS):
        if any(hashed not in row for row in rows):
            expected = "samples of lm-evaluation-harness 0.4.3 or later, which tell documents apart"
            raise InputError(str(file), f"documents without {hashed}", expected)
    return rows


def _metrics(file: Path, lines: list[dict[str, Any]]) -> list[str]:
    """Return the metrics of a task: those that it lists, or in old versions what is a number or a pair."""
    listed_ones = lines[0].get("metrics")
    if listed_ones is not None:
        return [str(name) for name in listed_ones]
    known = {"doc_id", "filter", "doc_hash", *SEALS, "target", "doc"}
    return [
        name
        for name, value in lines[0].items()
        if isinstance(value, int | float) and name not in known
    ]


def _of_filter(file: Path, lines: list[dict[str, Any]], filter: str | None) -> list[dict[str, Any]]:
    """Return the lines of one filter."""
    filters = [*dict.fromkeys(str(line.get("filter", "none")) for line in lines)]
    if filter is None and len(filters) > 1:
        expected = "--filter with one of them: they are the same documents"
        raise InputError(str(file), f"filters {listed(filters)}", expected)
    if filter is None or len(filters) == 1:
        return lines
    if filter not in filters:
        raise InputError(str(file), f"filters {listed(filters)}", f"a filter {filter}")
    return [line for line in lines if line.get("filter", "none") == filter]


def _frame(file: Path, task: str, lines: list[dict[str, Any]], metric: str) -> pd.DataFrame:
    """Return the outcomes of a task."""
    for number, line in enumerate(lines):
        value = line.get(metric)
        if isinstance(value, bool | int | float) and 0 <= value <= 1:
            continue
        kind = "a pair or list, of which only the whole has a value" * isinstance(value, list)
        got = f"{metric} of {kind or repr(value)[:60]} in line {number + 1}"
        raise InputError(str(file), got, "a metric in [0, 1] of every document, such as acc")
    seen: collections.Counter[str] = collections.Counter()
    ids = []
    for line in lines:
        ids.append(f"{task} {line['doc_hash'][:16]} {seen[line['doc_hash']]}")
        seen[line["doc_hash"]] += 1
    return pd.DataFrame(
        {
            "id": ids,
            metric: [float(line[metric]) for line in lines],
            "task": task,
            **{name: [line[name] for line in lines] for name in SEALS},
        }
        | dict(zip(TEXTS, zip(*map(_texts, lines), strict=True), strict=True))
    )


def _texts(line: dict[str, Any]) -> tuple[str, str, str]:
    """Return the prompt, the right answer and the model's: the likeliest of several choices, or what it wrote."""
    requests = line.get("arguments") or []
    requests = [*requests.values()] if isinstance(requests, dict) else requests
    parts = [[*one.values()] if isinstance(one, dict) else [*one] for one in requests]
    answers = line.get("filtered_resps") or [""]
    prompt = str(parts[0][0]) if parts and parts[0] else ""
    target = str(line.get("target", ""))
    if not all(isinstance(one, list | tuple) for one in answers):
        return prompt, target, str(answers[0])
    choices = [str(part[1]).strip() for part in parts if len(part) > 1]
    scores = [float(one[0]) for one in answers]
    if len(choices) != len(scores):
        return prompt, target, ""
    number = int(target) if target.isdecimal() else len(choices)
    right = choices[number] if number < len(choices) else target
    return prompt, right, choices[scores.index(max(scores))]


def _check_results(
    file: Path, task: str, values: pd.Series, metric: str, filter: str, results: dict[str, Any]
) -> None:
    """Raise an `InputError` if a task's samples are not those that its results count and average."""
    count = results.get("n-samples", {}).get(task, {}).get("effective")
    if count is not None and count != len(values):
        raise InputError(str(file), f"{len(values)} documents", f"{count}, as the results say")
    mean = results.get("results", {}).get(task, {}).get(f"{metric},{filter}")
    if isinstance(mean, float) and not math.isclose(mean, values.mean(), abs_tol=1e-6):
        got = f"a mean {metric} of {values.mean():.6g}"
        raise InputError(str(file), got, f"{mean:.6g}, as the results say")
