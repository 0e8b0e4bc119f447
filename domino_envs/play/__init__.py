"""A person against an agent: in the browser and in the terminal."""
