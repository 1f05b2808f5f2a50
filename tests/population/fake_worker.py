"""A worker without TensorFlow: speaks the protocol and misbehaves as the variant's name says."""

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

if __name__ == "__main__":
    directory = Path(sys.argv[1])
    for line in sys.stdin:
        kind, variant, member = json.loads(line)
        answer = {"error": None}
        if kind == "condition":
            print("".join(json.dumps({"left": left}) + "\n" for left in (2, 1, 0)) + json.dumps(answer), flush=True)
            continue
        once = directory / f"once-{variant}-{member}"
        if variant == "slow":
            (directory / f"busy-{os.getpid()}").touch()
            time.sleep(1.5)
        if variant == "broken" or (variant == "shaky" and not once.exists()):
            once.touch()
            answer = {"error": "Traceback\nRuntimeError: boom"}
        elif variant == "deadly" or (variant == "mortal" and not once.exists()):
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        elif variant == "fatal":
            answer = {"error": "Traceback\nOSError", "fatal": ["directory", "a full disk", "space"]}
        Path(tempfile.gettempdir(), f"__autograph_generated_file{os.getpid()}.py").touch()  # as TensorFlow does
        with (directory / "made").open("a") as made:
            made.write(f"{variant} {member}\n")
        print(json.dumps(answer), flush=True)
