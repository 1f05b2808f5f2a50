"""Leaves to JAX and torch what is theirs: `tests/compress/test_backends.py` runs those tests."""

import keras

elsewhere = keras.backend.backend() != "tensorflow"
collect_ignore = [] if elsewhere else ["test_pruning_elsewhere.py"]
