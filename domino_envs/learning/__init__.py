"""Self-play training: networks with the games' structure, PPO for both seats, export of policies (extra ``train``)."""
