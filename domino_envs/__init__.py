"""Reinforcement-learning environments for three unusual two-player domino games."""

__version__ = "0.1.0"
