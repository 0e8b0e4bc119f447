"""What happens between the iterations of a training run: past selves, evaluations, checkpoints, a progress bar."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback
from torch import Tensor
from tqdm import tqdm

from .checkpoint import save_checkpoint
from .evaluation import rate_learner
from .selfplay import SelfPlayPPO, SnapshotAgent

__all__ = ["Supervisor"]

CHECKPOINT_EVERY = 60.0  # seconds
SEED = 7  # of the deals that the learner is rated on


class Supervisor(BaseCallback):
    """A callback of :class:`~domino_envs.learning.selfplay.SelfPlayPPO`.

    Attributes:
        best: the best weights so far, by ``quality`` of the ratings.
        history: the ratings: ``plies``, ``seconds``, ``quality`` and the figures, see
            :class:`~domino_envs.learning.evaluation.LearnerRating`.

    Args:
        folder: where the checkpoint goes.
        facts: what else the checkpoint keeps for the training script, for JSON.
        rungs: the opponents that the learner is rated against.
        evaluations: ratings in the whole run.
        evaluation_deals: mirrored deals against each rung.
        episode: what counts as a game there.
        snapshot_every: iterations between two past selves.
        kept: facts of the checkpoint to go on from; empty for a new run.
    """

    def __init__(
        self,
        folder: Path,
        facts: dict[str, Any],
        *,
        rungs: Sequence[str],
        evaluations: int,
        evaluation_deals: int,
        episode: str,
        snapshot_every: int,
        kept: dict[str, Any],
    ) -> None:
        super().__init__()
        self.folder = folder
        self.facts = facts
        self.rungs = rungs
        self.evaluations = evaluations
        self.evaluation_deals = evaluation_deals
        self.episode = episode
        self.snapshot_every = snapshot_every
        self.best: dict[str, Tensor] = {}
        self.history: list[dict[str, Any]] = kept.get("history", [])
        self._iterations: int = kept.get("iterations", 0)
        self._prepared: bool = kept.get("prepared", False)
        self._saved_at = time.monotonic()
        self._bar: tqdm[Any] | None = None

    @property
    def learner(self) -> SelfPlayPPO:
        """The learner, with its own type."""
        assert isinstance(self.model, SelfPlayPPO)
        return self.model

    def _share_done(self) -> float:
        return 1.0 - self.learner._current_progress_remaining

    def _on_training_start(self) -> None:
        # Without a terminal nothing is shown.
        form = "{l_bar}{bar}| {elapsed}{postfix}"
        self._bar = tqdm(total=100, desc=self.learner.players.game.name, bar_format=form, leave=False, disable=None)

    def _on_training_end(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def _on_rollout_start(self) -> None:
        """All updates of the iterations before are done: the run can be saved as it is."""
        if self._bar is not None:
            self._bar.n = round(100 * self._share_done(), 1)
            self._bar.set_postfix({"plies": f"{self.num_timesteps:,}"})
        learner = self.learner
        if not (self._prepared or learner.stop_requested):
            self._prepare()
        if time.monotonic() - self._saved_at > CHECKPOINT_EVERY:
            self.save()
        if not (learner.stop_requested or learner.budget_spent):
            self._iterations += 1
            self._prepared = False

    def _on_step(self) -> bool:
        return True

    def _prepare(self) -> None:
        """Do what comes before an iteration; never twice, also if the run is stopped and goes on here."""
        past = [agent for agent in self.learner.players.opponents if isinstance(agent, SnapshotAgent)]
        number, rest = divmod(self._iterations, self.snapshot_every)
        if past and not rest:
            past[number % len(past)].copy_from(self.learner.network)
        if self._iterations and self._share_done() * self.evaluations >= len(self.history) + 1:
            self.evaluate()
        self._prepared = True

    def evaluate(self) -> None:
        """Rate the learner, unless this was done after the same number of plies; keep its weights if they are best.

        Best are the last ones, as long as earlier ones were not better by more than chance: with the learning rate the
        noise of the weights falls, and of many ratings the highest is mostly luck.

        Raises:
            KeyboardInterrupt: by Ctrl-C, where it interrupts.
        """
        if self.history and self.history[-1]["plies"] == self.num_timesteps:
            return
        learner = self.learner
        game = learner.players.game
        agent = SnapshotAgent(game, learner.network, mode="best", name="learner")
        rating = rate_learner(game, agent, self.rungs, deals=self.evaluation_deals, seed=SEED, episode=self.episode)
        earlier = [entry["quality"] for entry in self.history]
        if not earlier or rating.quality >= max(earlier) - rating.margin:
            self.best = {name: weight.detach().clone() for name, weight in learner.network.state_dict().items()}
        seconds = round(learner.seconds_used, 1)
        facts = {"plies": self.num_timesteps, "seconds": seconds, "quality": rating.quality}
        self.history.append({**facts, **rating.figures})
        for name, value in rating.figures.items():
            self.logger.record(f"evaluation/{name}", value)
        tqdm.write(f"{self.num_timesteps:>11,} plies {seconds:6.0f} s  {rating.text()}")

    def save(self) -> None:
        """Write the checkpoint."""
        kept = {"history": self.history, "iterations": self._iterations, "prepared": self._prepared}
        save_checkpoint(self.folder, self.learner, {**self.facts, **kept}, self.best)
        self._saved_at = time.monotonic()
