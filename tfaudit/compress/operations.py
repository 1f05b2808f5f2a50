"""Convolutions and matrix products of a model."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Operation:
    """One convolution or matrix product."""

    name: str  # name of the kernel, as in `tfaudit.sparsity` or the flatbuffer; without a kernel, of the operation
    macs: int  # multiply-accumulates for one image; padding counts like pixels
    effective_macs: int  # multiply-accumulates whose kernel weight is not zero


@dataclass(frozen=True)
class Operations:
    """Convolutions and matrix products of a model in the order of execution.

    `uncounted` lists operations with an unknown number of multiplications, such as a recurrent layer's loop.
    """

    counted: tuple[Operation, ...]
    uncounted: tuple[str, ...] = ()

    @property
    def flops(self) -> int:
        """Floating-point operations for one image: two per multiply-accumulate."""
        return 2 * sum(operation.macs for operation in self.counted)

    @property
    def effective_flops(self) -> int:
        """Floating-point operations whose kernel weight is not zero."""
        return 2 * sum(operation.effective_macs for operation in self.counted)
