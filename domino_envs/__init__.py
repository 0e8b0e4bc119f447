"""Reinforcement-learning environments for three unusual two-player domino games.

Importing the package registers its environments with Gymnasium (``domino_envs/Mate-v0`` ...) and PettingZoo
(``domino_envs/mate_v0`` ...); the rules are loaded when an environment is made.
"""

from .registration import register_all

__version__ = "0.1.0"

register_all()
