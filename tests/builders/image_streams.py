"""The same images as a data set in memory and as a stream."""

import numpy as np

from tfaudit.datasets.dataset import Dataset, ImageStream


def image_sets(name, split, class_names, pixels, labels, ids, **facts):
    """Return a data set in memory, and the same as a stream of PNGs."""
    import tensorflow as tf

    def read(seed):
        rows = tf.data.Dataset.from_tensor_slices((pixels, labels, ids))
        return rows.map(lambda image, label, name: (tf.io.encode_png(image), label, name))

    def decode(content):
        return tf.ensure_shape(tf.io.decode_png(content, channels=shape[2]), shape)

    def read_groups():
        return tf.data.Dataset.from_tensor_slices(({}, labels, ids))

    shape = pixels.shape[1:]
    facts = {"image_shape": shape, "num_examples": len(pixels), **facts}
    labels, ids = np.asarray(labels), np.asarray(ids)
    return (
        Dataset(
            name, split, class_names, **facts, inputs=pixels, known_labels=labels, known_ids=ids
        ),
        Dataset(
            name, split, class_names, **facts, stream=ImageStream(read, read_groups, decode, 1)
        ),
    )
