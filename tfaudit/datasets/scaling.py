"""The size to which images are scaled and cropped."""

from dataclasses import dataclass

from tfaudit.errors import require

ImageShape = tuple[int | None, int | None, int | None]
"""Height, width and channels; None where images vary, all None for examples that are no images."""


@dataclass(frozen=True)
class Scaling:
    """The size to which images are scaled and cropped.

    Attributes:
        image_size: shorter side to scale to, in pixels; by default images are not scaled.
        crop: edge in pixels of the central square to crop; `image_size` by default. ImageNet takes 256 and 224.
        bicubic: whether to scale as [F]'s released code does: by TensorFlow 1's bicubic interpolation, without
            anti-aliasing, to pixels that keep fractions and overshoot. By default images are scaled bilinearly with
            anti-aliasing, and rounded.

    Raises:
        InputError: a size below 1, a crop above the image size, or `bicubic` without an image size.

    Example:
        >>> Scaling(256, 224).scaled((None, None, 3)), Scaling().scaled((32, 32, 3))
        ((224, 224, 3), (32, 32, 3))
    """

    image_size: int | None = None
    crop: int | None = None
    bicubic: bool = False

    def __post_init__(self) -> None:
        for argument, pixels in (("image_size", self.image_size), ("crop", self.crop)):
            require(pixels is None or pixels >= 1, argument, pixels, "1 pixel or more")
        fits = self.bicubic is False or (self.bicubic is True and self.image_size is not None)
        require(fits, "bicubic", self.bicubic, "False, or True with an image_size")
        if self.image_size is not None and self.crop is not None:
            expected = f"at most image_size, {self.image_size}"
            require(self.crop <= self.image_size, "crop", self.crop, expected)

    @property
    def edge(self) -> int | None:
        """Edge of the squares in pixels; None if images keep their size."""
        return self.crop or self.image_size

    def scaled(self, shape: ImageShape) -> ImageShape:
        """Return the shape after scaling of images with a shape `(H, W, C)`."""
        return shape if self.edge is None else (self.edge, self.edge, shape[2])


UNSCALED = Scaling()
