"""Update streams: only the newest value of each key counts (Moga et al. 2009)."""
