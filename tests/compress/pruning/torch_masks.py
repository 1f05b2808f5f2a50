"""Records what `torch.nn.utils.prune` does, for test_torch_masks.py: PyTorch is a download of 3 GB, so not in CI.

    pip install torch; python tests/compress/torch_masks.py

writes torch_masks.npz beside this file: random kernels in Keras' order of axes, the draws of PyTorch's generator where
a method is random, and the masks of the seven methods of [P], in the kernels' order of axes too.
"""

import json
from pathlib import Path

import numpy as np

__all__ = ["AMOUNTS", "PLACE", "SHAPES"]

PLACE = Path(__file__).with_suffix(".npz")
SHAPES = {"conv": (3, 3, 6, 10), "conv1d": (5, 4, 7), "conv3d": (2, 3, 2, 5, 6), "dense": (30, 12)}
AMOUNTS = (0.2, 0.36, 0.75)
STRUCTURED = {"l1_structured": 1, "l2_structured": 2, "linf_structured": float("inf")}
AXES = {-1: 0, -2: 1}
"""PyTorch's `dim` of Keras' axis: kernels are (outputs, inputs, ...) there."""


def record() -> None:
    """Run PyTorch and write the file."""
    import torch
    from torch.nn.utils import prune

    def module(kernel: np.ndarray) -> torch.nn.Module:
        made = torch.nn.Module()
        made.weight = torch.nn.Parameter(
            torch.from_numpy(np.moveaxis(kernel, (-1, -2), (0, 1)).copy())
        )
        return made

    def mask(made: torch.nn.Module) -> np.ndarray:
        return np.moveaxis(made.weight_mask.numpy(), (0, 1), (-1, -2)).astype(bool)

    rng = np.random.default_rng(0)
    kernels = {name: rng.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}
    found = {f"kernel/{name}": kernel for name, kernel in kernels.items()}
    for amount in AMOUNTS:
        whole = {name: module(kernel) for name, kernel in kernels.items()}
        prune.global_unstructured(
            [(each, "weight") for each in whole.values()], prune.L1Unstructured, amount=amount
        )
        for name, kernel in kernels.items():
            found[f"global_unstructured/{amount}/{name}"] = mask(whole[name])
            found[f"l1_unstructured/{amount}/{name}"] = mask(
                prune.l1_unstructured(module(kernel), "weight", amount)
            )
            made = module(kernel)
            torch.manual_seed(7)
            found[f"random_unstructured/{amount}/{name}"] = mask(
                prune.random_unstructured(made, "weight", amount)
            )
            torch.manual_seed(7)
            draws = torch.rand_like(made.weight).detach().numpy()
            found[f"draws/{amount}/{name}"] = np.moveaxis(draws, (0, 1), (-1, -2))
            for axis, dim in AXES.items():
                for method, order in STRUCTURED.items():
                    made = prune.ln_structured(module(kernel), "weight", amount, n=order, dim=dim)
                    found[f"{method}{axis}/{amount}/{name}"] = mask(made)
                torch.manual_seed(7)
                made = prune.random_structured(module(kernel), "weight", amount, dim=dim)
                found[f"random_structured{axis}/{amount}/{name}"] = mask(made)
                torch.manual_seed(7)
                found[f"draws{axis}/{amount}/{name}"] = torch.rand(kernel.shape[axis]).numpy()
    np.savez_compressed(PLACE, versions=json.dumps({"torch": torch.__version__}), **found)


if __name__ == "__main__":
    record()
