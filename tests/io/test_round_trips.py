"""What every format that writes names and notes keeps of a network."""

from __future__ import annotations

import numpy as np
import pytest
from random_networks import random_network, random_notes

from plausible.io.files import FORMATS
from seeds import few_of

#: UAI files have numbers for names.
NAMED = [known for known in FORMATS if known.write is not None and known.name != "UAI"]


@pytest.mark.parametrize("known", NAMED, ids=lambda known: known.name)
@pytest.mark.parametrize("seed", few_of(10, 60))
def test_reading_what_was_written_gives_the_same_network(known, seed):
    """Names, states of any type, their order, every bit of the numbers, and the notes."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, num_variables=int(rng.integers(1, 9)))
    network = network.with_notes(random_notes(rng, network))
    again = known.parse(known.write(network))
    assert again == network
    assert list(again.variables) == list(network.variables)
    assert again.notes == network.notes
    for name, variable in network.variables.items():
        read = again.variables[name].states
        assert [(type(state), state) for state in read] == [(type(state), state) for state in variable.states]
