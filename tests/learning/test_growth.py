"""Tests of going on from a smaller network: further inputs change nothing at first, and anything else is refused."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from domino_envs.learning.growth import with_further_inputs


def test_further_inputs_change_nothing_at_first() -> None:
    small, large = nn.Linear(3, 4), nn.Linear(5, 4)
    large.load_state_dict(with_further_inputs(large, small.state_dict()))
    seen = torch.randn(6, 5)
    torch.testing.assert_close(large(seen), small(seen[:, :3]))  # sums of other lengths may round otherwise
    large(seen).sum().backward()
    assert large.weight.grad is not None
    assert (large.weight.grad[:, 3:] != 0).all()  # they are learned


@pytest.mark.parametrize("sizes", [(3, 2), (3, 6), (5, 6)])
def test_other_sizes_are_refused(sizes: tuple[int, int]) -> None:
    saved, network = nn.Linear(*sizes), nn.Linear(4, 4)
    with pytest.raises(RuntimeError, match="size mismatch"):
        network.load_state_dict(with_further_inputs(network, saved.state_dict()))
