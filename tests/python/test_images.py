"""Images, image encoders, captions drawn over images, weights of other programs."""

from __future__ import annotations

import pathlib
import pickle
import struct
from typing import Any

import attend
import numpy as np
import pytest


def pixels(height: int = 6, width: int = 9) -> Any:
    return np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)


def test_an_image_is_made_of_any_array_of_bytes() -> None:
    values = pixels()
    views: list[Any] = [values, values[::-1], np.asfortranarray(values), values[:, ::2]]
    for view in views:
        image = attend.Image(view)
        np.testing.assert_array_equal(np.asarray(image.pixels), view)
    assert repr(attend.Image(values)) == "Image(width=9, height=6)"
    bad: list[Any] = [values[:, :, :2], values[0], values.astype("f"), values[:0]]
    for wrong in bad:
        with pytest.raises(attend.Error, match="^pixels: expected"):
            attend.Image(wrong)
    with pytest.raises(TypeError, match="^pixels: expected an array"):
        attend.Image(3)


def test_a_png_file_holds_the_pixels(tmp_path: pathlib.Path) -> None:
    values = pixels()
    image = attend.Image(values)
    try:
        data = image.png()
    except attend.UnsupportedError:
        pytest.skip("built without libpng")
    assert image._repr_png_() == data
    np.testing.assert_array_equal(np.asarray(attend.Image(data).pixels), values)
    (tmp_path / "a.png").write_bytes(data)
    np.testing.assert_array_equal(np.asarray(attend.Image(tmp_path / "a.png").pixels), values)
    with pytest.raises(attend.Error, match="^photo"):
        attend.Image(data[:40], name="photo")
    with pytest.raises(FileNotFoundError):
        attend.Image("missing.png")


def test_the_center_square_is_cropped_and_scaled() -> None:
    values = np.zeros((4, 8, 3), np.uint8)
    values[:, 2:6] = 200
    square = attend.Image(values).center_crop(4)
    assert (square.width, square.height) == (4, 4)
    assert (np.asarray(square.pixels) == 200).all()
    with pytest.raises(attend.Error):
        attend.Image(values).center_crop(0)


def test_attention_of_a_caption_is_drawn_over_its_image() -> None:
    images, captions = attend.datasets.shapes(train_count=20, image_size=24)
    model = attend.train("caption", list(enumerate(captions)), features=images, hidden_size=8,
                         steps=2, valid_fraction=0.2, progress=False)
    output = model.caption(images[:1], max_output_length=3, attention=True)[0]
    assert output.grid is not None and output.grid[0] * output.grid[1] > 1
    photo = (np.asarray(images[0]) * 255).astype(np.uint8)
    try:
        drawn = output.overlay(photo, crop=False)
    except attend.UnsupportedError:
        pytest.skip("built without libpng")
    assert drawn.startswith("<svg") and drawn != output.overlay()
    assert "<html" in output.overlay(photo, format="html") and output.overlay(format="text")
    with pytest.raises(attend.Error, match="^pixels"):
        output.overlay(photo[:, :, 0])
    with pytest.raises(attend.Error):
        model.images("missing.npy")


def test_files_that_are_no_encoder_are_named(tmp_path: pathlib.Path) -> None:
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(b"nonsense" * 10)
    with pytest.raises(attend.Error, match="bad.safetensors"):
        attend.ImageEncoder.load(bad)
    with pytest.raises(FileNotFoundError):
        attend.ImageEncoder.load(tmp_path / "missing")


def test_an_imported_encoder_classifies_and_has_features(
    squeezenet: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    encoder = attend.import_weights("squeezenet", squeezenet)
    assert isinstance(encoder, attend.ImageEncoder)
    assert len(encoder.labels) == 1000 and encoder.channels == 512
    found = encoder.classify(pixels(40, 50))
    assert len(found) == 1000 and sum(found.values()) == pytest.approx(1, abs=1e-4)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    features = encoder.features(pixels(40, 50))
    assert features.ndim == 3 and features.shape[2] == 512
    both = encoder.features([pixels(40, 50), pixels(30, 20)])
    assert both.shape == (2, *features.shape)
    np.testing.assert_array_equal(both[0], features)
    with pytest.raises(ValueError, match="at least 1 image"):
        encoder.features([])
    encoder.save(tmp_path / "e.safetensors")
    for copy in (attend.ImageEncoder.load(tmp_path / "e.safetensors"),
                 pickle.loads(pickle.dumps(encoder))):
        np.testing.assert_array_equal(copy.features(pixels(40, 50)), features)
    rows = np.asarray(features).reshape(-1, 512)
    fitted, residual = encoder.fit(rows, rows[:, :2].copy())
    assert fitted.channels == 2 and 0 <= residual < 1


def write_squeezenet(folder: pathlib.Path) -> pathlib.Path:
    convs = [("conv1", 3, 96, 7)]
    channels = 96
    for name, out, squeeze in (("f2", 128, 16), ("f3", 128, 16), ("f4", 256, 32), ("f5", 256, 32),
                               ("f6", 384, 48), ("f7", 384, 48), ("f8", 512, 64), ("f9", 512, 64)):
        convs += [(f"{name}s", channels, squeeze, 1), (f"{name}a", squeeze, out // 2, 1),
                  (f"{name}b", squeeze, out // 2, 3)]
        channels = out
    convs.append(("convf", channels, 1000, 1))
    manifest, values, at = "", [], 0
    rng = np.random.default_rng(1)
    for name, rows, columns, kernel in convs:
        size = rows * columns * kernel * kernel
        manifest += f"{name}.weight\t{columns}x{rows}x{kernel}x{kernel}\t{at}\n"
        manifest += f"{name}.bias\t{columns}\t{at + size}\n"
        values += [rng.normal(size=size) / np.sqrt(rows * kernel * kernel), np.zeros(columns)]
        at += size + columns
    (folder / "manifest.tsv").write_text(manifest)
    (folder / "synset_words.txt").write_text(
        "".join(f"n{i:08d} thing, number {i}\n" for i in range(1000)))
    (folder / "net.f32").write_bytes(np.concatenate(values).astype("<f4").tobytes())
    return folder / "net.f32"


@pytest.fixture(scope="module")
def squeezenet(tmp_path_factory: Any) -> pathlib.Path:
    """Weights of the shapes of SqueezeNet v1.0, random."""
    import os

    if os.environ.get("ATTEND_TEST_SANITIZE"):
        pytest.skip("slow under AddressSanitizer")
    folder: pathlib.Path = tmp_path_factory.mktemp("squeezenet")
    return write_squeezenet(folder)


def write_llama(path: pathlib.Path) -> None:
    """A checkpoint of llama2.c with random weights, and its tokenizer."""
    dim, hidden, layers, heads, vocab, length = 8, 16, 1, 2, 259 + 4, 16
    header = struct.pack("<7i", dim, hidden, layers, heads, heads, vocab, length)
    head = dim // heads
    counts = [vocab * dim, layers * dim, *[layers * dim * dim] * 4, layers * dim,
              *[layers * hidden * dim] * 3, dim, length * head // 2, length * head // 2]
    values = np.random.default_rng(1).normal(size=sum(counts)).astype("<f4") / 4
    path.write_bytes(header + values.tobytes())
    pieces = [b"<unk>", b"\n<s>\n", b"\n</s>\n", *(b"<0x%02X>" % i for i in range(256)),
              b" ", b"a", b"b", b"ab"]
    tokenizer = struct.pack("<i", max(map(len, pieces)))
    for rank, piece in enumerate(pieces):
        tokenizer += struct.pack("<fi", -float(rank), len(piece)) + piece
    (path.parent / "tok.bin").write_bytes(tokenizer)


def test_weights_of_another_program_become_a_model(tmp_path: pathlib.Path) -> None:
    write_llama(tmp_path / "stories.bin")
    model = attend.import_weights("llama2c", tmp_path / "stories.bin", tokenizer=tmp_path / "tok.bin")
    assert isinstance(model, attend.Model) and model.type == "lm"
    said = "".join(model.complete("ab", max_new_tokens=3))
    assert isinstance(said, str)
    model.save(tmp_path / "m.safetensors")
    assert attend.Model.load(tmp_path / "m.safetensors").to_bytes() == model.to_bytes()


def test_int8_weights_of_ctranslate2_stay_int8_or_become_floats(tmp_path: pathlib.Path) -> None:
    corpus = pathlib.Path(__file__).parents[1] / "fuzz" / "corpus" / "ctranslate2"
    (tmp_path / "model.bin").write_bytes((corpus / "int8.bin").read_bytes())
    (tmp_path / "source_vocabulary.txt").write_text("<blank>\n<s>\n</s>\na\nb\n")
    (tmp_path / "target_vocabulary.txt").write_text("<blank>\n<s>\n</s>\nx\n<unk>\ny\nz\n")
    kept = attend.import_weights("ctranslate2", tmp_path / "model.bin")
    widened = attend.import_weights("ctranslate2", tmp_path / "model.bin", precision="float32")
    assert isinstance(kept, attend.Model) and isinstance(widened, attend.Model)
    assert kept.info["precision"] == "int8" and widened.info["precision"] == "float32"
    with pytest.raises(ValueError, match="precision"):
        attend.import_weights("ctranslate2", tmp_path / "model.bin", precision="int8")  # type: ignore[arg-type]


def test_formats_and_files_that_cannot_be_imported_are_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(attend.Error, match="unknown format 'lama2c'; did you mean llama2c"):
        attend.import_weights("lama2c", tmp_path)
    with pytest.raises(FileNotFoundError):
        attend.import_weights("llama2c", tmp_path / "missing.bin")
    (tmp_path / "bad.bin").write_bytes(b"nonsense")
    with pytest.raises(attend.Error, match="bad.bin"):
        attend.import_weights("llama2c", tmp_path / "bad.bin")
    with pytest.raises(attend.Error, match="tokens option does not apply"):
        attend.import_weights("llama2c", tmp_path / "bad.bin", tokens="char")
    assert set(attend.import_formats()) == {"ctranslate2", "g2p", "llama2c", "squeezenet"}
