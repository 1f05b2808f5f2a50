"""One optimizer step of `imagenet_resnet50` on its whole batch: `python benchmarks/whole_batch.py FOLDER`.

FOLDER holds JPEGs, which stand for ImageNet: they are repeated, stored in TFRecords as TensorFlow Datasets does, and
read by the recipe's pipeline. The step's 4,096 images of 224x224 pixels pass through the full ResNet-50, forward and
backward, a micro-batch at a time (`--micro-batch`, 16). Printed: the clock and the processor time of the step, which
begins with an empty pipeline and with tracing, and the most memory that the process held (Linux only).
"""

import argparse
import dataclasses
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from input_rate import photographs, write_records

from tfaudit.datasets import loading
from tfaudit.population.machine import peak_memory
from tfaudit.population.training import Trainer
from tfaudit.recipes.imagenet_resnet50 import BATCH, study


def main() -> None:
    """Make the step and print what it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--micro-batch", type=int, default=16)
    parser.add_argument("--batch", type=int, default=BATCH)
    arguments = parser.parse_args()
    contents = photographs(arguments.folder, 1000, 433)  # as many pixels as ImageNet's mean
    with tempfile.TemporaryDirectory() as directory:
        write_records(
            (contents * (arguments.batch // 1000 + 1))[: arguments.batch], Path(directory)
        )
        loading.IN_MEMORY_BYTES = 0  # so few photographs would be held in memory; ImageNet is not
        train = loading.load_dataset(
            study.dataset, "train", data_dir=directory, image_size=study.image_size, crop=study.crop
        )
        training = dataclasses.replace(
            study.training,
            steps=1,
            batch_size=arguments.batch,
            micro_batch=arguments.micro_batch,
            checkpoint_every=None,
        )
        trainer = Trainer(study, training, train)
        model = trainer.build(0)
        start, processor = time.monotonic(), time.process_time()
        history = trainer.train(model, 0)
        took, processor = time.monotonic() - start, time.process_time() - processor
    parts = f"{arguments.batch} images in micro-batches of {arguments.micro_batch}"
    held = f"{peak_memory() / 1e9:.1f} GB"
    print(
        f"{parts}: {took:.0f} s, {processor:.0f} s of a core, {held}, loss {history['loss'][0]:.3f}"
    )


if __name__ == "__main__":
    main()
