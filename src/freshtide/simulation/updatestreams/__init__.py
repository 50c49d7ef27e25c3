"""Update streams in virtual time: tuples of many keys come in, one server works them off (Moga et al. 2009)."""
