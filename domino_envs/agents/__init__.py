"""Opponents: random and scripted players, search, exact solvers, saved policies; one interface for all."""

from .base import MODES, Agent, CallableAgent
from .registry import AGENT_KINDS, AgentKind, make_agent

__all__ = ["AGENT_KINDS", "MODES", "Agent", "AgentKind", "CallableAgent", "make_agent"]
