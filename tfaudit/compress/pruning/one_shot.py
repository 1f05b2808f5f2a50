"""One-shot pruning: setting weights of a trained model to 0, in place."""

import keras
import numpy as np

from tfaudit.compress.keras_model import require_finite
from tfaudit.compress.pruning.channels import channel_axes
from tfaudit.compress.pruning.kernels import Layers, select_kernels
from tfaudit.compress.pruning.masks import masked, pruned_share
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.reached_sparsity import warn_of_quantized, warn_of_shortfall
from tfaudit.compress.pruning.schedules import check_sparsity
from tfaudit.compress.pruning.score_data import GradientData
from tfaudit.compress.pruning.tfmot_masks import TFMOT


def prune(
    model: keras.Model,
    sparsity: float,
    *,
    method: str = "magnitude",
    scope: str = "layer",
    granularity: str = "weight",
    axis: int = -2,
    layers: Layers = None,
    trainable_only: bool = False,
    embeddings: bool = False,
    gradient_data: GradientData | None = None,
    gradient: str = "loss",
    decay: float = 0.0,
    seed: int = 0,
    tfmot: TFMOT | None = None,
) -> dict[str, np.ndarray]:
    """Set the weights with the lowest scores to 0, in place. Weights that are already 0 go first.

    Exactly `max(round(n * (1 - sparsity)), 1)` of the n weights or channels of a kernel stay (of all kernels together
    with `scope="global"`). If scores tie, the weights at the lower positions stay. Training the model afterwards
    revives pruned weights, unless `Pruning` or `HoldMasks` holds them at 0.

    Args:
        model: a built Keras 3 model, compiled with a loss if the method needs gradients.
        sparsity: share of the weights or channels that become 0, in [0, 1).
        method: name of a function in `tfaudit.compress.pruning.scores`, such as "magnitude" for weights or "l1" for
            channels.
        scope: "layer" lets each kernel reach the sparsity; "global" ranks all together, so that a kernel may become
            all zero.
        granularity: "weight", or "channel" to keep or prune whole slices of a kernel.
        axis: axis of the channels: -2 for input channels ([P]), -1 for output channels; see `pruning.channels`.
        layers: layers or their names, at any depth; None prunes all that have a kernel.
        trainable_only: whether to leave out the kernels of frozen layers.
        embeddings: whether to prune the tables of embeddings as well, as TF-MOT does.
        gradient_data: inputs and targets as two arrays, or batches of them, over which the scores of "gradient",
            "undecayed" and "chip" are averaged; for Keras on TensorFlow only.
        gradient: loss to differentiate: "loss" for the whole training loss ([R]'s text), "data" for the loss without
            penalties (the authors' code).
        decay: coefficient eps of the weight decay `eps/2 |w|^2`, for "undecayed"; Keras' `L2(l)` has eps = 2 l.
        seed: seed of the random scores, for "random".
        tfmot: settings for choosing weights as TF-MOT does: all ties stay, blocks, m-by-n; see
            `tfaudit.compress.pruning.tfmot_masks`. If `layers` is None, the kernels are those that TF-MOT prunes:
            embeddings too, but no depthwise kernels. None, the default, uses the rules above.

    A warning says if the model cannot reach the sparsity because Keras has quantized kernels, which then have no float
    weights, or because LoRA adds a product to a kernel.

    Returns:
        The masks by Keras variable path: bool arrays in the kernels' shapes, True where a weight stays.

    Raises:
        InputError: the model, a layer or a setting cannot be used.

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, name="only")], name="net")
    >>> _ = model.layers[0].kernel.assign([[1.0, -4.0], [3.0, -2.0]])
    >>> prune(model, 0.5)
    {'net/only/kernel': array([[False,  True],
           [ True, False]])}
    >>> model.layers[0].kernel.numpy().tolist()
    [[0.0, -4.0], [3.0, 0.0]]
    """
    check_sparsity("sparsity", sparsity)
    pruning_method = PruningMethod(method, scope, granularity, axis, gradient, decay, seed, tfmot)
    kernels = select_kernels(
        model,
        layers,
        trainable_only=trainable_only,
        embeddings=embeddings,
        as_tfmot=tfmot is not None,
    )
    warn_of_quantized(model)
    require_finite(kernels.values())
    pruning_method.check_kernels(kernels, sparsity)
    values = {name: keras.ops.convert_to_tensor(kernel) for name, kernel in kernels.items()}
    axes = channel_axes(model, kernels, axis)
    masks = pruning_method.masks(
        values,
        sparsity,
        axes=axes,
        draws=pruning_method.draws(kernels, axes),
        measured=pruning_method.measured(model, kernels, gradient_data),
        zeros_first=True,
    )
    for name, kernel in kernels.items():
        kernel.assign(masked(values[name], masks[name]))
    kernel_masks = {name: keras.ops.convert_to_numpy(mask) for name, mask in masks.items()}
    reachable = pruned_share(kernel_masks.values())
    warn_of_shortfall(model, kernels, reachable, "the kernels cannot be assigned")
    return kernel_masks
