"""How long does `import tfaudit` take, beside `import tensorflow_model_optimization`?

Fresh processes in turn, so that both see the same machine; the time is that of the import statement alone, without the
start of the interpreter. Goal: below 0.2 s, and no TensorFlow.

Run: `python benchmarks/import_time.py [--rounds 7]`
"""

import argparse
import statistics
import subprocess
import sys

MODULES = ("tfaudit", "tensorflow_model_optimization")
GOAL_SECONDS = 0.2


def import_seconds(module: str) -> tuple[float, bool]:
    """Seconds that the import takes in a fresh process, and whether it brought TensorFlow."""
    program = (
        "import sys, time; start = time.perf_counter()\n"
        f"import {module}\n"
        "print(time.perf_counter() - start, 'tensorflow' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    seconds, tensorflow = run.stdout.split()[-2:]
    return float(seconds), tensorflow == "True"


def main() -> int:
    """Prints the medians and their ratio; 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="fresh processes per module")
    rounds = parser.parse_args().rounds
    for module in MODULES:  # the first read of the files from disk does not count
        import_seconds(module)
    times: dict[str, list[float]] = {module: [] for module in MODULES}
    brought = dict.fromkeys(MODULES, False)
    for _ in range(rounds):
        for module in MODULES:
            seconds, tensorflow = import_seconds(module)
            times[module].append(seconds)
            brought[module] |= tensorflow
    medians = {module: statistics.median(times[module]) for module in MODULES}
    for module in MODULES:
        print(f"import {module}: {medians[module]:.4f} s{' (with TensorFlow)' if brought[module] else ''}")
    ours, theirs = (medians[module] for module in MODULES)
    print(f"ratio: {theirs / ours:.0f} times as fast; goal < {GOAL_SECONDS} s and no TensorFlow")
    return int(ours >= GOAL_SECONDS or brought["tfaudit"])


if __name__ == "__main__":
    sys.exit(main())
