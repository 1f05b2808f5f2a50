"""Everything right of Predictions works where there is no TensorFlow."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "keras", "tf_keras", "ai_edge_litert"):
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Blocked())
import pkgutil, importlib
for room in "analysis audits charts outlets readers stats store".split():
    package = importlib.import_module(f"tfaudit.{room}")
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
from tfaudit.audits import summary
from tfaudit.predictions import Predictions
before = Predictions.from_top1([0, 1], [[0, 1], [0, 1]])
after = Predictions.from_top1([0, 1], [[0, 0], [0, 1]])
audit = summary({"dense": before, "int8": after})
print(len(audit.frame()), len(audit.impacts["int8"].chart().to_dict()["layer"]))
"""


@pytest.mark.slow
def test_without_tensorflow():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2", "2"]
