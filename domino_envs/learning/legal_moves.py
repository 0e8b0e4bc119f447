"""Networks that score the legal moves alone, and distributions over them: of many actions few are legal at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

__all__ = ["ForeseenObservations", "LegalMovesNetwork", "LegalScores", "score_legal"]


class LegalScores(NamedTuple):
    """Scores of the legal actions of ``n`` positions, of ``m`` in all, those of a position side by side.

    Attributes:
        rows: position of each, ``int64 (m,)``, ascending.
        actions: the action, ``int64 (m,)``.
        scores: unnormalised log-probability, ``float32 (m,)``.
        values: of the positions, ``float32 (n,)``.
    """

    rows: Tensor
    actions: Tensor
    scores: Tensor
    values: Tensor

    def log_probabilities(self) -> Tensor:
        """Return the log-probability of each action among those of its position, ``float32 (m,)``."""
        shifted = self.scores - self._highest(self.scores.detach())[self.rows]
        return shifted - self.sum_by_row(shifted.exp()).log()[self.rows]

    def sum_by_row(self, amounts: Tensor) -> Tensor:
        """Return the sums over each position's actions, ``(n,)``."""
        return torch.zeros_like(self.values).index_add(0, self.rows, amounts)

    def best(self, scores: Tensor) -> Tensor:
        """Return the position's action of the highest score, ``int64 (n,)``; scores are ``(m,)``."""
        top = torch.nonzero(scores == self._highest(scores)[self.rows]).squeeze(1)
        best = torch.zeros(len(self.values), dtype=torch.int64)
        best[self.rows[top]] = self.actions[top]
        return best

    def at(self, chosen: Tensor) -> Tensor:
        """Return the index of each position's chosen action, ``int64 (n,)``; chosen are ``int64 (n,)``, and legal."""
        return torch.nonzero(self.actions == chosen[self.rows]).squeeze(1)

    def _highest(self, amounts: Tensor) -> Tensor:
        least = torch.full_like(self.values.detach(), -torch.inf)
        return least.scatter_reduce(0, self.rows, amounts, "amax")


@dataclass(frozen=True)
class ForeseenObservations:
    """Observations together with what a network foresees of them.

    Attributes:
        observations: ``int8 (n, size)``.
        foreseen: what :meth:`LegalMovesNetwork.foresee` returned of them.
    """

    observations: Tensor
    foreseen: Tensor

    def __len__(self) -> int:
        """Return how many they are."""
        return len(self.observations)


class LegalMovesNetwork(nn.Module):
    """A network that defines :meth:`score_legal`; as a module it returns logits of all actions."""

    def foresee(self, observation: Tensor, action_mask: Tensor) -> Tensor | None:
        """Return inputs that follow from the position alone, ``float32 (n, size)``, None if there are none.

        They depend on no weight, so training computes them once for a position, and passes them to every
        :meth:`score_legal`.
        """
        return None

    def score_legal(self, observation: Tensor, action_mask: Tensor, foreseen: Tensor | None = None) -> LegalScores:
        """Return scores of the legal actions of ``int8`` observations ``(n, size)`` and masks ``(n, num_actions)``.

        ``foreseen`` is what :meth:`foresee` returns of them; None has it computed.
        """
        raise NotImplementedError

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits ``(n, num_actions)``, 0 at illegal actions, and values ``(n,)``."""
        legal = self.score_legal(observation, action_mask)
        logits = torch.zeros_like(action_mask, dtype=torch.float32)
        places = legal.rows * action_mask.shape[1] + legal.actions
        return logits.flatten().scatter(0, places, legal.scores.float()).view_as(logits), legal.values.float()


def score_legal(network: nn.Module, observation: Tensor | ForeseenObservations, action_mask: Tensor) -> LegalScores:
    """Return scores of the legal actions by any network ``(observation, action_mask) -> (logits, values)``."""
    foreseen = None
    if isinstance(observation, ForeseenObservations):
        foreseen = observation.foreseen
        observation = observation.observations
    if isinstance(network, LegalMovesNetwork):
        legal = network.score_legal(observation, action_mask, foreseen)
        return legal._replace(scores=legal.scores.float(), values=legal.values.float())
    logits, values = network(observation, action_mask)
    rows, actions = action_mask.nonzero(as_tuple=True)
    return LegalScores(rows, actions, logits[rows, actions].float(), values.float())
