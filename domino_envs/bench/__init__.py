"""The speed of the environments, measured beside their peers in one run; see ``domino-envs bench``.

Every measurement runs in a process of its own (:mod:`.child`), so that no library's threads or caches reach another's;
those on one core are pinned to it. A figure is the median over several repeats, as many of them as fit into the time
given, each with everything in it that a user's loop has: choosing random legal actions, observations, masks, and new
episodes where one ends.
"""
