"""Right-or-wrong answers of members that differ on images that differ."""


def heterogeneous_study(rng, members, images, *, paired):
    """Return booleans before and after, `(K, N)` each."""
    difficulty, harm = rng.normal(1.2, 1.5, images), 0.4 + rng.normal(0, 0.6, images)

    def strength():
        return (
            difficulty
            + rng.normal(0, 0.15, members)[:, None]
            + rng.normal(0, 0.5, (members, images))
        )

    noise = rng.logistic(size=(members, images))
    before = strength()
    if paired:
        drift = rng.normal(0, 0.1, members)[:, None] + rng.normal(0, 0.3, (members, images))
        return before + noise > 0, before + noise - harm - drift > 0
    return before + noise > 0, strength() - harm + rng.logistic(size=(members, images)) > 0
