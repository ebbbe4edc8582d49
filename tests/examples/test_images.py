"""Denoising and segmentation: fields, engines that fill them in, and the pictures that are written."""

from __future__ import annotations

import json
import struct
import zlib
from functools import partial
from itertools import product as cartesian

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from plausible.cli import main
from plausible.errors import InvalidArgument
from plausible.examples.image_comparisons import (
    colour_scene,
    compare_binary,
    compare_grey,
    compare_segments,
    flipped,
    grey_scene,
    letters,
    png_bytes,
    scribbled,
    side_by_side,
    write_png,
)
from plausible.examples.images import ColourModel, denoise, denoise_binary, label, segment, segment_field
from plausible.inference import (
    AlphaBetaSwap,
    AlphaExpansion,
    DualDecomposition,
    Enumeration,
    LinearRelaxation,
    MaxProduct,
)

TINY = [(3, 3), (1, 7), (7, 1), (2, 4), (1, 1)]


def _energy(labels, unary, pair_cost):
    """Σ unary[r, c, label] + Σ pair_cost(pixel, neighbour, their labels), pixel by pixel."""
    rows, columns = labels.shape
    total = sum(unary[r, c, labels[r, c]] for r in range(rows) for c in range(columns))
    for r, c in np.ndindex(rows, columns):
        for down, across in ((1, 0), (0, 1)):
            if r + down < rows and c + across < columns:
                there = (r + down, c + across)
                total += pair_cost((r, c), there, labels[r, c], labels[there])
    return total


def _least(unary, pair_cost):
    """The least energy of all pictures, added up for all of them at once."""
    rows, columns, num_labels = unary.shape
    pictures = np.array(list(cartesian(range(num_labels), repeat=rows * columns))).reshape(-1, rows, columns)
    energies = np.zeros(len(pictures))
    for r, c in np.ndindex(rows, columns):
        energies += unary[r, c][pictures[:, r, c]]
        for there in ((r + 1, c), (r, c + 1)):
            if there[0] < rows and there[1] < columns:
                costs = [[pair_cost((r, c), there, a, b) for b in range(num_labels)] for a in range(num_labels)]
                energies += np.array(costs)[pictures[:, r, c], pictures[:, *there]]
    return energies.min()


# --- against all pictures ---


@pytest.mark.parametrize("shape", TINY, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_a_cut_finds_the_best_of_all_binary_pictures(shape, seed):
    """GraphCut has the least energy of up to 512 pictures, its gap is zero, and so says the formula of the field."""
    rng = np.random.default_rng(seed)
    noisy, coupling, field = rng.integers(0, 2, shape), rng.uniform(0, 1), rng.uniform(0.1, 1)
    spins = np.array([-1, 1])
    unary = -field * (2 * noisy - 1)[:, :, None] * spins

    def pair_cost(here, there, a, b):
        return -coupling * spins[a] * spins[b]

    found = denoise_binary(noisy, coupling, field)
    assert found.energy == pytest.approx(_energy(found.labels, unary, pair_cost))
    assert found.energy == pytest.approx(_least(unary, pair_cost))
    assert found.info.exact
    assert found.gap == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("shape", [(2, 3), (1, 6), (1, 1)], ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_grey_pictures_are_within_the_known_factor_of_the_best_of_all(shape, seed):
    """Expansions have at most 2c times the least energy, c = truncation; no bound of any engine is above the least."""
    rng = np.random.default_rng(seed)
    noisy, truncation = rng.uniform(-0.5, 3.5, shape), 2.0
    unary = (noisy[:, :, None] - np.arange(4)) ** 2 / (2 * 0.8**2)

    def pair_cost(here, there, a, b):
        return 0.6 * min(abs(int(a) - int(b)), truncation)

    least = _least(unary, pair_cost)
    for engine in (AlphaExpansion(), AlphaBetaSwap(), MaxProduct(), DualDecomposition(), LinearRelaxation()):
        found = denoise(noisy, 4, noise=0.8, smoothness=0.6, truncation=truncation, engine=engine)
        assert found.energy == pytest.approx(_energy(found.labels, unary, pair_cost)), engine
        assert found.bound - 1e-9 <= least <= found.energy + 1e-9, engine
        if isinstance(engine, AlphaExpansion):
            assert found.energy <= 2 * truncation * least + 1e-9
        if found.info.exact:
            assert found.energy == pytest.approx(least), engine


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 1)], ids=str)
def test_segments_are_within_the_known_factor_of_the_best_of_all(shape):
    """Potts expansions pay for contours at most twice what the best labels do (Boykov, Veksler & Zabih 2001)."""
    image = np.random.default_rng(5).uniform(0, 1, (*shape, 3))
    colours = ColourModel(np.array([0.5, 0.3, 0.2]), np.eye(3) * 0.8, np.tile(np.eye(3) / 20, (3, 1, 1)))
    sharp = [np.sum((image[1:] - image[:-1]) ** 2, axis=2), np.sum((image[:, 1:] - image[:, :-1]) ** 2, axis=2)]
    mean = np.mean(np.concatenate([part.ravel() for part in sharp])) if image.size > 3 else 1.0

    def pair_cost(here, there, a, b):
        return 1.5 * float(a != b) * np.exp(-np.sum((image[here] - image[there]) ** 2) / (2 * mean))

    unary = colours.energies(image)
    least, floor = _least(unary, pair_cost), unary.min(axis=2).sum()
    for engine in (AlphaExpansion(), AlphaBetaSwap(), DualDecomposition()):
        found = segment(image, colours, 1.5, engine)
        assert found.energy == pytest.approx(_energy(found.labels, unary, pair_cost))
        assert found.bound - 1e-9 <= least <= found.energy + 1e-9
        if isinstance(engine, AlphaExpansion):
            assert found.energy - floor <= 2 * (least - floor) + 1e-9


def test_marginals_choose_the_most_probable_label_of_each_pixel():
    """With an engine for marginals each pixel has its own best label; the engine gives no bound on energies."""
    noisy = flipped(np.tile([0, 0, 1, 1], (3, 1)), 0.3, seed=1)
    found = denoise_binary(noisy, 0.3, 0.5, Enumeration())
    spins = np.array(list(cartesian((-1, 1), repeat=12))).reshape(-1, 3, 4)
    agreement = (spins[:, 1:] * spins[:, :-1]).sum((1, 2)) + (spins[:, :, 1:] * spins[:, :, :-1]).sum((1, 2))
    weights = np.exp(0.3 * agreement + 0.5 * (spins * (2 * noisy - 1)).sum((1, 2)))
    wanted = np.tensordot(weights, spins, 1) > 0
    assert (found.labels == wanted).all()
    assert found.bound == -np.inf
    assert found.energy >= denoise_binary(noisy, 0.3, 0.5).energy


# --- at full size ---


@pytest.fixture(scope="module")
def binary():
    return compare_binary(48)


@pytest.fixture(scope="module")
def grey():
    return compare_grey(levels=5, size=32)


@pytest.fixture(scope="module")
def segments():
    return compare_segments(48)


def test_denoising_removes_most_wrong_pixels(binary):
    """Every engine leaves at most a third of the wrong pixels, of letters whose strokes are a few pixels wide."""
    assert binary.before == pytest.approx(0.15, abs=0.02)
    assert all(attempt.score < binary.before / 3 for attempt in binary.attempts)


@pytest.mark.slow
def test_denoising_64_x_64_removes_most_wrong_pixels():
    """Every engine leaves at most a fifth of the wrong pixels; the cut leaves an eighth."""
    binary = compare_binary()
    assert all(attempt.score < binary.before / 5 for attempt in binary.attempts)
    assert binary.attempts[0].score < binary.before / 8


def test_no_engine_has_less_energy_than_the_cut(binary):
    """The cut is exact: its energy is the bound of all others."""
    cut, *others = binary.attempts
    assert cut.result.info.exact
    assert binary.bound == pytest.approx(cut.result.energy)
    assert all(attempt.result.energy >= cut.result.energy - 1e-6 for attempt in others)


def test_grey_levels_come_back(grey):
    """More than ten decibels are gained by each engine, all within a thousandth of the best bound."""
    assert all(attempt.score > grey.before + 10 for attempt in grey.attempts)
    for attempt in grey.attempts:
        assert grey.bound - 1e-6 <= attempt.result.energy <= grey.bound * 1.001


def test_each_grey_bound_is_below_each_energy(grey):
    """What one engine proves holds for the labels of every other."""
    for attempt in grey.attempts:
        assert all(attempt.result.bound <= other.result.energy + 1e-6 for other in grey.attempts)


def test_segments_are_more_often_right_than_colours_alone(segments):
    """A field makes fewer than a tenth of the mistakes of pixels by themselves, and none has less energy."""
    assert all(1 - attempt.score < (1 - segments.before) / 10 for attempt in segments.attempts)
    for attempt in segments.attempts:
        assert segments.bound - 1e-6 <= attempt.result.energy


@pytest.mark.parametrize("name", ["binary", "grey", "segments"])
def test_a_comparison_shows_and_tells_every_engine(name, request):
    """The strip has the truth, the noise and each result side by side; the table has a line for each."""
    comparison = request.getfixturevalue(name)
    strip, table = comparison.strip(), comparison.table()
    width = comparison.pictures[0].shape[1] * 4
    for place, picture in enumerate(comparison.pictures):
        shown = strip[::4, place * (width + 8) : place * (width + 8) + width : 4]
        assert (shown == picture).all()
    assert strip.shape[1] == len(comparison.pictures) * (width + 8) - 8
    lines = table.splitlines()[2:]
    assert [line.split()[0] for line in lines] == [attempt.engine for attempt in comparison.attempts]


def test_the_same_seed_gives_the_same_pictures():
    """Noise and samplers are seeded; another seed gives other noise."""
    one, again, other = compare_binary(8), compare_binary(8), compare_binary(8, seed=1)
    assert (one.strip() == again.strip()).all()
    assert (one.pictures[1] != other.pictures[1]).any()


# --- special pictures ---


def test_a_uniform_picture_stays_as_it_is():
    """No pixel of one colour is changed, whatever the level, be it the only one."""
    assert (denoise_binary(np.ones((3, 4)), 0.5, 0.5).labels == 1).all()
    assert (denoise(np.full((3, 4), 2.0), 5, noise=1.0, smoothness=1.0, truncation=2.0).labels == 2).all()
    assert (denoise(np.full((3, 4), 2.0), 1, noise=1.0, smoothness=1.0, truncation=2.0).labels == 0).all()
    image = np.full((3, 4, 3), 0.5)
    assert (segment(image, ColourModel.fit(image, 1, restarts=0)).labels == 0).all()


def test_without_coupling_each_pixel_is_as_observed():
    """Zero smoothness leaves pixels by themselves: the nearest level, the likeliest colour."""
    rng = np.random.default_rng(2)
    noisy = rng.integers(0, 2, (4, 5))
    assert (denoise_binary(noisy, 0.0, 1.0).labels == noisy).all()
    grey = rng.uniform(0, 4, (4, 5))
    assert (denoise(grey, 5, noise=1.0, smoothness=0.0, truncation=1.0).labels == np.rint(grey)).all()
    image = rng.uniform(0, 1, (4, 5, 3))
    colours = ColourModel.fit(image, 3)
    assert (segment(image, colours, 0.0).labels == colours.energies(image).argmin(axis=2)).all()


def test_a_field_can_be_asked_about_a_pixel():
    """The variables are the pixels, row by row, so that labels have their places."""
    image, things = colour_scene(8)
    network = segment_field(image, ColourModel.from_scribbles(image, scribbled(things)), 1.0)
    assert list(network.variables)[:10] == [f"0_{c}" for c in range(8)] + ["1_0", "1_1"]
    found = label(network, (8, 8), AlphaExpansion())
    assert found.labels[6, 7] == network.mpe(engine=AlphaExpansion())["6_7"] == things[6, 7]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: denoise_binary([[0, 2]], 0.5, 0.5), "not 2"),
        (lambda: denoise_binary([0, 1], 0.5, 0.5), r"shape \(2,\)"),
        (lambda: denoise_binary(np.zeros((0, 3)), 0.5, 0.5), r"shape \(0, 3\)"),
        (lambda: denoise([[np.nan]], 4, noise=1, smoothness=1, truncation=1), "NaN"),
        (lambda: denoise([[1.0]], 4, noise=0, smoothness=1, truncation=1), "noise=0"),
        (lambda: denoise([[1.0]], 4, noise=1, smoothness=-1, truncation=1), "smoothness=-1"),
        (lambda: segment(np.zeros((2, 2)), ColourModel.fit(np.zeros((2, 2, 1)), 1)), "colours"),
        (lambda: segment(np.zeros((2, 2, 1)), ColourModel.fit(np.zeros((2, 2, 1)), 1), -1.0), "smoothness=-1"),
        (lambda: ColourModel.fit(np.zeros((2, 2, 3)), 2), "1 colours"),
        (lambda: ColourModel.from_scribbles(np.zeros((1, 2, 3)), np.array([[0, 2]])), "segment 1"),
        (lambda: ColourModel.from_scribbles(np.zeros((1, 2, 3)), np.array([[-1, -1]])), "segment 0"),
        (lambda: ColourModel.from_scribbles(np.zeros((1, 2, 3)), np.array([[0]])), r"shape \(1, 1\)"),
        (lambda: ColourModel.fit(np.zeros((2, 2, 3)), 1, restarts=-1), "restarts=-1"),
        (lambda: png_bytes(np.zeros((2, 2))), "float64"),
        (lambda: png_bytes(np.zeros((2, 2, 4), np.uint8)), r"\(2, 2, 4\)"),
    ],
)
def test_what_is_no_picture_is_refused_by_name(ask, message):
    """The error says what was given."""
    with pytest.raises(InvalidArgument, match=message):
        ask()


# --- colours ---


def test_colour_energies_are_densities_but_for_a_constant():
    """-log (w N(y; μ, Σ)) by SciPy, less the constant of the dimension."""
    rng = np.random.default_rng(4)
    spread = rng.normal(size=(3, 3, 3))
    model = ColourModel(rng.dirichlet([1, 1, 1]), rng.uniform(size=(3, 3)), spread @ spread.transpose(0, 2, 1))
    colours = rng.uniform(size=(5, 4, 3))
    for k in range(3):
        density = multivariate_normal(model.means[k], model.covariances[k]).logpdf(colours)
        expected = -density - np.log(model.weights[k]) - 1.5 * np.log(2 * np.pi)
        np.testing.assert_allclose(model.energies(colours)[:, :, k], expected)


def test_colours_are_found_without_scribbles():
    """EM finds the four things of a scene, under other numbers, and the field then gets nearly all pixels right."""
    image, things = colour_scene(32)
    noisy = image + np.random.default_rng(0).normal(0, 0.1, image.shape)
    model = ColourModel.fit(noisy, 4)
    one_run = [ColourModel.fit(noisy, 4, restarts=1, seed=seed).log_likelihood(noisy) for seed in range(3)]
    assert model.log_likelihood(noisy) >= max(one_run) - 1.0
    assert model.weights.sum() == pytest.approx(1.0)
    found = segment(noisy, model, 4.0).labels
    meaning = np.array([np.bincount(things[found == k], minlength=4).argmax() for k in range(4)])
    assert sorted(meaning) == [0, 1, 2, 3]
    assert (meaning[found] == things).mean() > 0.97


def test_a_colour_that_someone_marked_is_its_segment_s():
    """Means and covariances from scribbles are those of the marked pixels."""
    rng = np.random.default_rng(6)
    image, marks = rng.uniform(size=(6, 6, 3)), rng.integers(-1, 3, (6, 6))
    model = ColourModel.from_scribbles(image, marks)
    for k in range(3):
        marked = image[marks == k]
        np.testing.assert_allclose(model.means[k], marked.mean(axis=0))
        np.testing.assert_allclose(model.covariances[k], np.cov(marked.T, bias=True) + 0.02**2 * np.eye(3))


# --- on paper ---


def _decoded(content):
    """The pixels of a PNG of one byte a value and no filter, every checksum checked."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, {}
    while place < len(content):
        (length,) = struct.unpack(">I", content[place : place + 4])
        name, data = content[place + 4 : place + 8], content[place + 8 : place + 8 + length]
        assert struct.unpack(">I", content[place + 8 + length : place + 12 + length])[0] == zlib.crc32(name + data)
        chunks[name] = data
        place += 12 + length
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    columns, rows, depth, kind, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0])
    values = {0: 1, 2: 3}[kind]
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(rows, 1 + values * columns)
    assert (lines[:, 0] == 0).all()
    pixels = lines[:, 1:].reshape(rows, columns, values)
    return pixels if values == 3 else pixels[:, :, 0]


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3), (1, 1), (1, 1, 3), (64, 3)], ids=str)
def test_a_png_decodes_to_the_same_pixels(shape, tmp_path):
    """Greys and colours come back from the file."""
    pixels = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    path = write_png(tmp_path / "new folder" / "picture.png", pixels)
    decoded = _decoded(path.read_bytes())
    assert decoded.shape == shape
    assert (decoded == pixels).all()


def test_grey_beside_colour_becomes_colour():
    """A grey pixel has its level in all three colours."""
    both = side_by_side([np.full((1, 1), 7, np.uint8), np.array([[[1, 2, 3]]], np.uint8)], magnify=2, gap=1)
    assert both.shape == (2, 5, 3)
    assert both[1].tolist() == [[7, 7, 7], [7, 7, 7], [255, 255, 255], [1, 2, 3], [1, 2, 3]]


def test_scenes_have_all_their_things_at_any_size():
    """Letters have two levels, greys all that are asked for, colours four things, each of which is scribbled on."""
    for size in (16, 33, 64):
        assert np.unique(letters(size)).tolist() == [0, 1]
        assert {0, 7} <= set(np.unique(grey_scene(8, size)).tolist())
        image, things = colour_scene(size)
        assert image.min() >= 0
        assert image.max() <= 1
        marks = scribbled(things)
        assert np.unique(marks).tolist() == [-1, 0, 1, 2, 3]
        assert (marks[marks >= 0] == things[marks >= 0]).all()


def _run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["pictures", *map(str, arguments)])
    captured = capsys.readouterr()
    return int(stop.value.code or 0), captured.out, captured.err


def test_the_command_writes_a_picture_for_each_comparison(capsys, tmp_path, monkeypatch):
    """Text and JSON tell the same files; a name picks one of them."""
    small = {"denoise-binary": partial(compare_binary, 8), "segment": partial(compare_segments, 16)}
    monkeypatch.setattr("plausible.cli.show.COMPARISONS", small)
    code, text, errors = _run(capsys, tmp_path / "out")
    assert (code, errors) == (0, "")
    assert all(f"{name}.png" in text for name in small)
    assert sorted(path.stem for path in (tmp_path / "out").iterdir()) == sorted(small)
    assert _decoded((tmp_path / "out" / "denoise-binary.png").read_bytes()).shape == (32, 6 * 32 + 5 * 8)
    code, text, errors = _run(capsys, tmp_path / "one", "segment", "--json")
    assert (code, errors) == (0, "")
    document = json.loads(text)
    assert list(document) == ["segment"]
    assert _decoded((tmp_path / "one" / "segment.png").read_bytes()).ndim == 3


def test_the_command_refuses_a_comparison_that_there_is_not(capsys, tmp_path):
    """One line, with the names there are, and nothing written."""
    code, text, errors = _run(capsys, tmp_path / "out", "segments")
    assert (code, text) == (2, "")
    assert "Did you mean 'segment'?" in errors
    assert not (tmp_path / "out").exists()
