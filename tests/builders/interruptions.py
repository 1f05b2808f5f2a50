"""Trainings that are interrupted: by an exception after some steps, or by `kill -9`."""

import os
import signal
import subprocess
import time

import keras
import numpy as np


class PowerCutError(Exception):
    pass


class CutAfter(keras.callbacks.Callback):
    """Interrupts a fit after a number of batches that it really makes."""

    def __init__(self, batches):
        super().__init__()
        self.left = batches

    def on_train_batch_end(self, batch, logs=None):
        if not logs:  # a step that an earlier attempt made
            return
        self.left -= 1
        if self.left == 0:
            raise PowerCutError


MAKE_MEMBER = """
import sys
import tensorflow as tf
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
from tfaudit.population.member import MemberMaker
from tfaudit.store.store import open_store
store = open_store(sys.argv[1])
maker = MemberMaker(store)
for key in ("dense", sys.argv[2]):
    if not store.is_complete(key, 0):
        maker.prepare(key)
        maker.make(key, 0)
"""
"""Program that makes a dense member and one of a variant; its arguments are a study's directory and the variant."""


def assert_kills_change_nothing(store, whole, key, command):
    """Make a member in two stores, in one of them with `kill -9` at random moments, and compare their bits."""
    rng = np.random.default_rng()
    planned = kills = int(os.environ.get("TFAUDIT_KILLS", "2"))
    subprocess.run([*command, str(whole.directory), key], check=True)
    while not store.is_complete(key, 0):
        worker = subprocess.Popen([*command, str(store.directory), key])
        if kills:
            kills -= 1
            _wait_for_checkpoint(store.directory, worker)
            time.sleep(rng.uniform(0, 4 / planned))
            worker.send_signal(signal.SIGKILL)
        worker.wait()
    print(f"{planned - kills} kills")
    for file in whole.record(key, 0)["files"]:
        if file.endswith((".parquet", ".tflite", ".csv")):
            assert (whole.directory / file).read_bytes() == (store.directory / file).read_bytes()
    assert not list(store.directory.rglob("checkpoint"))


def _wait_for_checkpoint(directory, worker):
    """Wait until a process writes a checkpoint, or ends."""
    start = time.time()
    while worker.poll() is None:
        written = (path.stat().st_mtime for path in directory.rglob("checkpoint"))
        if max(written, default=0) > start:
            return
        time.sleep(0.05)
