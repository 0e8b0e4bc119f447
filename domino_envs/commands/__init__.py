"""Commands of the command line that belong to no other module; see :mod:`domino_envs.cli`."""
