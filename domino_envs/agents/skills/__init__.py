"""What agents know of each game beyond its rules; see :mod:`.registry`."""

from . import domaster, mate, third_level  # noqa: F401  (they register their skills)
from .registry import CERTAIN, LOSES, WINS, Skills, add_skills, assess, has_skill, rate, resample, rollout

__all__ = ["CERTAIN", "LOSES", "WINS", "Skills", "add_skills", "assess", "has_skill", "rate", "resample", "rollout"]
