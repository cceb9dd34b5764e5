"""Numbers of base/random.h in Python: the mixer of SplitMix64, and which cells complete holds out (solver/complete)."""

MASK = (1 << 64) - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def held(index, seed, share):
    """Does the split of this seed hold out the cell? index: from 0."""
    h = mix(seed)
    for i in index:
        h = mix(h ^ int(i))
    return h < int(share * 2.0**64)
