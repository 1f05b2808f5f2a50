"""TF-MOT, the reference; and what is left to JAX and torch: `tests/compress/test_backends.py` runs those tests."""

import keras
import pytest

from tfaudit.errors import one_line

elsewhere = keras.backend.backend() != "tensorflow"
collect_ignore = [] if elsewhere else ["test_pruning_elsewhere.py"]


@pytest.fixture(scope="session")
def tfmot():
    """`tensorflow_model_optimization.sparsity.keras`; not every release of TensorFlow lets it be imported.

    Its import sets TF_USE_LEGACY_KERAS, which makes `tf.keras` Keras 2 where that was not used before.
    """
    import tensorflow as tf

    _ = tf.keras.layers
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TF_USE_LEGACY_KERAS", "0")
        try:
            import tensorflow_model_optimization.sparsity.keras as tfmot
        except Exception as problem:
            pytest.skip(f"TF-MOT cannot be imported: {one_line(problem)}")
    return tfmot
