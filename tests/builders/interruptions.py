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
print("started", flush=True)
maker = MemberMaker(open_store(sys.argv[1]))
maker.prepare(sys.argv[2])
maker.make(sys.argv[2], 0)
"""
"""Program that makes member 0 of a variant; its arguments are a study's directory and the variant."""


def assert_kills_change_nothing(store, whole, key, command):
    """Make a member in two stores, in one of them with `kill -9` at random moments, and compare their bits."""
    rng = np.random.default_rng()
    planned = kills = int(os.environ.get("TFAUDIT_KILLS", "4"))
    for variant in ("dense", key):
        subprocess.run([*command, str(whole.directory), variant], check=True)
        while not store.is_complete(variant, 0):
            worker = subprocess.Popen(
                [*command, str(store.directory), variant], stdout=subprocess.PIPE
            )
            worker.stdout.readline()
            if kills:
                kills -= 1
                time.sleep(rng.uniform(1, 8))
                worker.send_signal(signal.SIGKILL)
            worker.wait()
            worker.stdout.close()
    print(f"{planned - kills} kills")
    for file in whole.record(key, 0)["files"]:
        if file.endswith((".parquet", ".tflite", ".csv")):
            assert (whole.directory / file).read_bytes() == (store.directory / file).read_bytes()
    assert not list(store.directory.rglob("checkpoint"))
