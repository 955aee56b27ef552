"""Images, image encoders, and weights of other programs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attend import _core
from attend._core import Array
from attend._types import ArrayLike

if TYPE_CHECKING:
    from attend._model import Model

Path = str | os.PathLike[str]


class Image:
    """Pixels of 8-bit red, green and blue.

    `source` is the path of a JPEG or PNG file, the bytes of one, or an array of uint8
    [height, width, 3], such as numpy.asarray() of a PIL image. `pixels` is a memoryview that
    numpy.asarray() takes without a copy. In a notebook an image shows itself.

    >>> image = attend.Image(memoryview(bytes(2 * 4 * 3)).cast("B", (2, 4, 3)))
    >>> image.width, image.height, image.pixels.shape
    (4, 2, (2, 4, 3))
    """

    pixels: memoryview
    width: int
    height: int

    def __init__(self, source: Path | bytes | ArrayLike, *, name: str = "image") -> None:
        if isinstance(source, (str, os.PathLike)):
            os.stat(source)
            self._set(*_core.image_load(os.fspath(source)))
        elif isinstance(source, (bytes, bytearray)):
            self._set(*_core.image_read(source, name))
        else:
            self._set(*_core.image_copy(source))

    def _set(self, data: bytes, height: int, width: int) -> None:
        self.height, self.width = height, width
        self.pixels = memoryview(data).cast("B", (height, width, 3))

    def center_crop(self, size: int) -> Image:
        """The largest center square, scaled to `size` pixels on a side.

        >>> image = attend.Image(memoryview(bytes(2 * 4 * 3)).cast("B", (2, 4, 3)))
        >>> image.center_crop(2).pixels.shape
        (2, 2, 3)
        """
        made = Image.__new__(Image)
        made._set(*_core.image_crop(self.pixels, size))
        return made

    def png(self) -> bytes:
        """The bytes of a PNG file.

        >>> image = attend.Image(memoryview(bytes(2 * 4 * 3)).cast("B", (2, 4, 3)))
        >>> try:
        ...     start = image.png()[1:4]
        ... except attend.UnsupportedError:
        ...     start = b"PNG"  # built without libpng
        >>> start
        b'PNG'
        """
        return _core.image_png(self.pixels)

    def _repr_png_(self) -> bytes | None:
        try:
            return self.png()
        except _core.UnsupportedError:  # a build without libpng shows its repr
            return None

    def __repr__(self) -> str:
        return f"Image(width={self.width}, height={self.height})"


def as_image(image: Any) -> Image:
    """An Image as it is, or made of anything that Image() takes."""
    return image if isinstance(image, Image) else Image(image)


class ImageEncoder:
    """An image encoder, SqueezeNet v1.0: classes of images, and features for caption models.

    `attend.import_weights("squeezenet", path)` makes one of the published weights. Calls take an
    Image, or what Image() takes.

    >>> try:
    ...     attend.ImageEncoder(b"nonsense")
    ... except attend.Error as error:
    ...     print(error.file)
    encoder
    """

    labels: list[str]
    channels: int

    def __init__(self, data: bytes, *, name: str = "encoder") -> None:
        self._set(_core.encoder_read(data, name))

    def _set(self, handle: Any) -> None:
        self._handle = handle
        self.labels, self.channels = _core.encoder_facts(handle)

    @classmethod
    def _from(cls, handle: Any) -> ImageEncoder:
        encoder = cls.__new__(cls)
        encoder._set(handle)
        return encoder

    @classmethod
    def load(cls, path: Path) -> ImageEncoder:
        """Reads the file of an image encoder.

        >>> try:
        ...     attend.ImageEncoder.load("missing.safetensors")
        ... except FileNotFoundError as error:
        ...     print("no such file")
        no such file
        """
        os.stat(path)
        return cls._from(_core.encoder_load(os.fspath(path)))

    def save(self, path: Path) -> None:
        """Writes its file.

        >>> def keep(encoder):
        ...     encoder.save("encoder.safetensors")
        ...     return attend.ImageEncoder.load("encoder.safetensors")
        """
        os.stat(os.path.dirname(os.fspath(path)) or ".")
        _core.encoder_save(self._handle, os.fspath(path))

    def to_bytes(self) -> bytes:
        """The bytes of its file; `ImageEncoder(data)` reads them.

        >>> def copy(encoder):
        ...     return attend.ImageEncoder(encoder.to_bytes())
        """
        return _core.encoder_write(self._handle)

    def __reduce__(self) -> Any:
        return (ImageEncoder, (self.to_bytes(),))

    def classify(self, image: Image | Path | bytes | ArrayLike) -> dict[str, float]:
        """The probability of each class, the most probable first.

        >>> def best_class(encoder, image):
        ...     return next(iter(encoder.classify(image)))
        """
        values = _core.encoder_classify(self._handle, as_image(image).pixels).tolist()
        return dict(sorted(zip(self.labels, values), key=lambda pair: -pair[1]))

    def features(self, image: Image | Path | bytes | ArrayLike | list[Any]) -> Array:
        """Features of the cells of the center square, [rows, columns, channels]; of a list of
        images [count, rows, columns, channels], as Model.caption() takes them.

        >>> def describe(encoder, model, image):
        ...     return model.caption(encoder.features([image]))[0].text
        """
        if not isinstance(image, list):
            return _core.encoder_features(self._handle, as_image(image).pixels)
        made = [_core.encoder_features(self._handle, as_image(one).pixels) for one in image]
        if not made:
            raise ValueError("image: expected at least 1 image, found an empty list")
        all_of_them = _core.zeros((len(made), *made[0].shape), "float32")
        bytes_of: Any = memoryview(all_of_them).cast("B")  # type: ignore[arg-type,unused-ignore]
        size = len(bytes_of) // len(made)
        for i, one in enumerate(made):
            bytes_of[i * size : (i + 1) * size] = memoryview(one).cast("B")  # type: ignore[arg-type,unused-ignore]
        return all_of_them

    def fit(
        self, features: ArrayLike, targets: ArrayLike, *, ridge: float = 0.01
    ) -> tuple[ImageEncoder, float]:
        """An encoder whose features [N, C] are projected to match `targets` [N, D], which another
        program computed, by ridge regression; and the part of their deviation that is left.

        >>> def fitted(encoder, images, targets):
        ...     features = encoder.features(images).numpy().mean(axis=(1, 2))
        ...     encoder, error = encoder.fit(features, targets)
        ...     return encoder
        """
        handle, residual = _core.encoder_fit(self._handle, features, targets, ridge)
        return ImageEncoder._from(handle), residual

    def __repr__(self) -> str:
        return f"ImageEncoder(labels={len(self.labels)}, channels={self.channels})"


class ImportFormat(NamedTuple):
    """A format of weights of another program: its name, the file that is read, what it becomes."""

    name: str
    file: str
    help: str
    has_token_kinds: bool
    needs_tokenizer: bool


def import_formats() -> dict[str, ImportFormat]:
    """The formats of import_weights(), by name.

    >>> attend.import_formats()["ctranslate2"].file
    'model.bin'
    """
    return {row[0]: ImportFormat(*row) for row in _core.import_formats()}


def import_weights(
    format: str,
    path: Path,
    *,
    tokens: str | None = None,
    tokenizer: Path | None = None,
    precision: Literal["stored", "float32"] = "stored",
) -> Model | ImageEncoder:
    """Reads weights of another program (docs/importing.md): a Model, or an ImageEncoder of the
    format "squeezenet". `tokens` is "space", "char" or "codepoint"; `tokenizer` a file. Int8 weights
    of CTranslate2 stay int8, or become floats with precision "float32".

    >>> try:
    ...     attend.import_weights("pytorch", ".")
    ... except attend.Error as error:
    ...     print(error)
    unknown format 'pytorch', expected one of ctranslate2, g2p, llama2c, squeezenet
    """
    from attend._model import Model

    os.stat(path)
    where = os.fspath(path)
    data = _core.import_weights(format, where, tokens, tokenizer, precision)
    if format == "squeezenet":
        return ImageEncoder(data, name=where)
    return Model(data, name=where)
