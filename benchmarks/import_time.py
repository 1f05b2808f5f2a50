"""Time of `import tfaudit`, compared with `import tensorflow_model_optimization`.

    python benchmarks/import_time.py [--rounds 7]

The two take turns in new processes, under the same load. The time is that of the import statement, without the start of
the interpreter. Goal: below 0.2 s, without TensorFlow.
"""

import argparse
import statistics
import subprocess
import sys

MODULES = ("tfaudit", "tensorflow_model_optimization")
GOAL_SECONDS = 0.2


def import_seconds(module: str) -> tuple[float, bool]:
    """Return the seconds of the import in a new process, and whether it imported TensorFlow."""
    program = (
        "import sys, time; start = time.perf_counter()\n"
        f"import {module}\n"
        "print(time.perf_counter() - start, 'tensorflow' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    seconds, tensorflow = run.stdout.split()[-2:]
    return float(seconds), tensorflow == "True"


def main() -> int:
    """Print the medians and their ratio; return 1 if the goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="number of new processes per module")
    rounds = parser.parse_args().rounds
    for module in MODULES:  # the first reading of the files from disk does not count
        import_seconds(module)
    times: dict[str, list[float]] = {module: [] for module in MODULES}
    imports_tensorflow = dict.fromkeys(MODULES, False)
    for _ in range(rounds):
        for module in MODULES:
            seconds, tensorflow = import_seconds(module)
            times[module].append(seconds)
            imports_tensorflow[module] |= tensorflow
    medians = {module: statistics.median(times[module]) for module in MODULES}
    for module in MODULES:
        print(
            f"import {module}: {medians[module]:.4f} s{' (with TensorFlow)' if imports_tensorflow[module] else ''}"
        )
    ours, theirs = (medians[module] for module in MODULES)
    print(f"ratio: {theirs / ours:.0f} times as fast; goal < {GOAL_SECONDS} s and no TensorFlow")
    return int(ours >= GOAL_SECONDS or imports_tensorflow["tfaudit"])


if __name__ == "__main__":
    sys.exit(main())
