"""Data sets, and corruption of images.

- `load_dataset(name, split)`: the embedded digits, or what TensorFlow Datasets has prepared on this machine.
- `prepare(name, folder)`: prepares local files: IDX, CIFAR-10's binary version, QMNIST, a folder of images per class.
- `is_available(name)`: whether a data set's files are present. `test_split(name)`: the split to test on.
- `split_validation(dataset, fraction, seed)`: holds out a share of a training set.
- `training_batches(dataset, ...)`: shuffled, augmented batches that a seed determines.
- `corrupt(images, name, severity)`: the corruptions of ImageNet-C and CIFAR-C, listed by `corruption_names()`.

Data sets are entries of `tfaudit.datasets.catalogue`, corruptions of `tfaudit.datasets.corruptions.registry`.
"""

from tfaudit.runtime.lazy_names import lazy_names

lazy_names(
    __name__,
    {
        "Dataset": "dataset",
        "load_dataset": "loading",
        "is_available": "loading",
        "test_split": "catalogue",
        "prepare": "prepare",
        "split_validation": "validation",
        "training_batches": "pipeline",
        "corrupt": "corruptions.corrupt",
        "corruption_names": "corruptions.registry",
    },
)
