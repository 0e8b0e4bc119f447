"""Who is stronger: matches over mirrored deals, a chess clock, ratings, records of every game, scorecards."""

from .card import Scorecard, scorecard
from .clock import Clock
from .elo import Rating, expected_score, fit_elo
from .files import load
from .intervals import Interval, mean_interval, ratio_interval, score_interval, wilson_interval
from .match import Settings
from .protocol import PROTOCOL_VERSION
from .record import GameRecord, Replay, check_record, replay
from .result import Pairing, Result, Standing
from .tournament import play_match, resume, round_robin

__all__ = ["PROTOCOL_VERSION", "Clock", "GameRecord", "Interval", "Pairing", "Rating", "Replay", "Result",
           "Scorecard", "Settings", "Standing", "check_record", "expected_score", "fit_elo", "load",
           "mean_interval", "play_match", "ratio_interval", "replay", "resume", "round_robin", "score_interval",
           "scorecard", "wilson_interval"]  # fmt: skip
