"""Programs go to other processes and come back as they were."""

import pickle

import numpy as np

from plausible.engine.compilation import compile_program


def test_unpickled_programs_have_read_only_arrays():
    """Kernels are compiled for read-only layouts: others would have to be compiled again in every worker."""
    program = compile_program(((0, 1), (1, 2), (2, 0)), (2, 3, 4))
    copy = pickle.loads(pickle.dumps(program))
    for before, after in zip((*program.layout, program.weight_starts), (*copy.layout, copy.weight_starts), strict=True):
        np.testing.assert_array_equal(before, after)
        assert not after.flags.writeable
    assert (copy.order, copy.extent, copy.pieces) == (program.order, program.extent, program.pieces)
    assert copy.seconds == program.seconds > 0
