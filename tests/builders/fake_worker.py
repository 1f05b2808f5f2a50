"""A worker without TensorFlow: speaks the protocol and misbehaves as the variant's name says.

`python fake_worker.py PLACE DIRECTORY`: what it did stands in PLACE, which engines with other directories share, too.
"""

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

if __name__ == "__main__":
    place, directory = map(Path, sys.argv[1:])
    for line in sys.stdin:
        kind, variant, member = json.loads(line)
        answer = {"error": None, "machine": {"cpu": "made up", "gpus": []}}
        if kind == "condition":
            print(
                "".join(json.dumps({"left": left}) + "\n" for left in (2, 1, 0))
                + json.dumps(answer),
                flush=True,
            )
            continue
        once = place / f"once-{variant}-{member}"
        first = not once.exists()
        once.touch()
        if variant == "slow":
            (place / f"busy-{os.getpid()}").touch()
            time.sleep(1.5)
        if variant == "hung" or (variant == "hangs once" and first):
            (place / f"hung-{os.getpid()}").touch()
            time.sleep(60)
        if variant == "lasting":
            path = directory / f"members/{variant}/{member:03d}/checkpoint"
            steps = int(path.read_text()) if path.exists() else 0
            if steps:
                print(json.dumps({"checkpoint": False, "step": steps}), flush=True)
            if steps < 3:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{steps + 1}")
                print(json.dumps({"checkpoint": True, "step": steps + 1}), flush=True)
                time.sleep(0.5)
                os.kill(os.getpid(), signal.SIGKILL)
            path.unlink()
        if variant == "broken" or (variant == "shaky" and first):
            answer = {"error": "Traceback\nRuntimeError: boom"}
        elif variant == "wrong":
            answer = {"error": "Traceback\nValueError: boom", "lasting": True}
        elif variant == "deadly" or (variant == "mortal" and first):
            os.kill(os.getpid(), signal.SIGKILL)
        elif variant == "fatal":
            answer = {"error": "Traceback\nOSError", "fatal": ["directory", "a full disk", "space"]}
        Path(
            tempfile.gettempdir(), f"__autograph_generated_file{os.getpid()}.py"
        ).touch()  # as TensorFlow does
        with (place / "made").open("a") as made:
            names = ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "TF_ENABLE_ONEDNN_OPTS")
            made.write(
                json.dumps([variant, member, os.getpid(), *map(os.environ.get, names)]) + "\n"
            )
        print(json.dumps(answer), flush=True)
