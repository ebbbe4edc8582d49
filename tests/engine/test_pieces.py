"""Large programs in pieces: the same answers, and the same bits on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from engine_problems import flat, full_product, random_tables
from plausible.engine import compilation
from plausible.engine import program as program_module
from plausible.engine import run as run_module
from plausible.engine.compilation import compile_program
from plausible.engine.program import cut_into_pieces, split_blocks
from plausible.engine.run import Semiring, Workspace

SCOPES = ((0, 1, 2, 3), (3, 4, 5), (5, 6, 0), (6, 7), (2, 8), (4, 9))
SIZES = (7, 6, 7, 8, 4, 3, 2, 3, 2, 2)


@pytest.fixture
def small_limits(monkeypatch):
    """Limits under which even small trees are cut, and their cliques split, in the middle of two axes and more."""
    monkeypatch.setattr(compilation, "LARGE", 1)
    monkeypatch.setattr(compilation, "BLOCK", 64)
    monkeypatch.setattr(compilation, "WIDE_BLOCK", 64)
    monkeypatch.setattr(program_module, "_SPLIT", 1200)
    compile_program.cache_clear()
    yield
    compile_program.cache_clear()


def test_pieces_are_a_tree_of_all_cliques():
    """Every clique is in one piece; a piece's cliques hang together; what is below and above agree."""
    rng = np.random.default_rng(0)
    parents = [int(rng.integers(position + 1, min(position + 6, 199) + 1)) for position in range(199)] + [-1]
    entries = rng.integers(1, 1000, 200).tolist()
    entries[50] = entries[120] = entries[199] = 10**6  # the root is last, and has no message to share out
    cut = cut_into_pieces(entries, parents)
    assert sorted(np.concatenate([piece.cliques for piece in cut]).tolist()) == list(range(200))
    assert [piece.cliques.tolist() for piece in cut if piece.is_split] == [[120], [50]]
    home = {int(clique): number for number, piece in enumerate(cut) for clique in piece.cliques}
    for number, piece in enumerate(cut):
        assert piece.cliques.tolist() == sorted(piece.cliques.tolist())
        for clique in piece.cliques[:-1]:
            assert home[parents[clique]] == number
        top = parents[piece.cliques[-1]]
        assert piece.above == (home[top] if top >= 0 else -1)
        assert all(cut[below].above == number for below in piece.below)


@pytest.mark.usefixtures("small_limits")
def test_split_cliques_are_shared_out_block_by_block():
    """The ranges cover all blocks, and no state of the first axis is in two of them."""
    program = compile_program(SCOPES, SIZES)
    split = [int(piece.cliques[0]) for piece in program.pieces if piece.is_split]
    assert split
    for clique in split:
        ranges = split_blocks(program.layout, clique)
        num_blocks = int(program.layout.cliques["num_blocks"][clique])
        assert [block for first, last in ranges for block in range(first, last)] == list(range(num_blocks))
        first_axis = int(program.layout.outer_sizes[program.layout.cliques["outer_start"][clique]])
        assert all(first % (num_blocks // first_axis) == 0 for first, _ in ranges)
    assert max(program.layout.cliques["num_outer"][split]) > 1
    assert max(len(split_blocks(program.layout, clique)) for clique in split) > 1


@pytest.mark.usefixtures("small_limits")
def test_runs_that_take_long_are_announced_in_the_log(monkeypatch, caplog):
    """Those beyond the limit only, with the estimate: a sign of life before minutes of silence."""
    caplog.set_level("INFO", logger="plausible")
    program = compile_program(SCOPES, SIZES)
    Workspace.of(program, flat(random_tables(SCOPES, SIZES, 1)))
    assert not [told for told in caplog.messages if "exact answer" in told]
    monkeypatch.setattr(run_module, "_LONG_SECONDS", 0.0)
    Workspace.of(program, flat(random_tables(SCOPES, SIZES, 1)))
    assert [told for told in caplog.messages if "exact answer" in told] == [
        f"An exact answer is computed on a tree of {program}."
    ]


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("semiring", list(Semiring))
def test_pieces_give_the_right_answers_in_the_same_bits_on_any_number_of_threads(semiring):
    """Totals, marginals, joints and tables with one, two and five threads, evidence coming and going."""
    tables = random_tables(SCOPES, SIZES, 1, zeros=0.2)
    program = compile_program(SCOPES, SIZES)
    assert len(program.pieces) > 2
    workspaces = [Workspace.of(program, flat(tables), semiring, threads=threads) for threads in (1, 2, 5)]
    everything = full_product(SCOPES, tables, SIZES)
    for seen in ({}, {4: np.array([1.0, 0, 0.5, 0])}, {7: np.array([0.0, 1.0, 0.0])}, {}):
        product = everything
        for variable, weights in seen.items():
            product = product * weights.reshape([-1 if v == variable else 1 for v in range(len(SIZES))])
        totals = [workspace.collect(seen) for workspace in workspaces]
        assert totals[0] == totals[1] == totals[2]
        best = product.max() if semiring == Semiring.MAX else product.sum()
        np.testing.assert_allclose(totals[0], np.log(best), atol=1e-10)
        if semiring == Semiring.MAX:
            assert product[tuple(workspaces[0].best_states())] == pytest.approx(best)
        else:
            check_marginals(workspaces, product)


def check_marginals(workspaces, product):
    answers = []
    for workspace in workspaces:
        program = workspace.program
        starts = np.ascontiguousarray(program.layout.cliques["table"])
        beliefs = np.zeros(program.num_entries)
        workspace.distribute(None, beliefs, starts, weight=2.0)
        answers.append([*workspace.marginals(), beliefs])
    for answer in answers[1:]:
        for one, other in zip(answers[0], answer, strict=True):
            np.testing.assert_array_equal(one, other)
    everything = list(range(product.ndim))
    for variable in everything:
        marginal = np.einsum(product, everything, [variable]) / product.sum()
        np.testing.assert_allclose(answers[0][variable], marginal, atol=1e-12)
    program, start = workspaces[0].program, 0
    for position in range(program.num_cliques):
        belief = answers[0][-1][start : start + int(program.entries[position])]
        expected = np.einsum(product, everything, list(program.clique(position))) / product.sum()
        np.testing.assert_allclose(belief, 2.0 * expected.ravel(), atol=1e-12)
        start += int(program.entries[position])


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_piece_comes_out(threads):
    """What goes wrong in a thread is raised where the run was asked for."""
    program = compile_program(SCOPES, SIZES)
    workspace = Workspace.of(program, flat(random_tables(SCOPES, SIZES, 1)), threads=threads)

    def failing(piece):
        return [lambda scratch: 1 / 0]

    with pytest.raises(ZeroDivisionError):
        program_module.run_pieces(program.pieces, True, failing, lambda piece: None, workspace._scratches)
