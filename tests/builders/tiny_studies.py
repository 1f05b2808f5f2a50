"""A study that runs in seconds, and a script that runs a study and can be killed."""

from tfaudit import Pruned, Quantized, Study, Training

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
