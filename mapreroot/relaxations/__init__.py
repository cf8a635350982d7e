"""Upper bounds on the best score: the relaxations LOC and TRI, readable and fast."""
