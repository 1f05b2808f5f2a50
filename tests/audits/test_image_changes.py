"""What compression changes in every image, against a loop over images and members."""

from collections import Counter

import numpy as np

from tfaudit.audits.flips.image_changes import image_changes
from tfaudit.audits.prediction_counts.prediction_counts import count_predictions
from tfaudit.predictions import Predictions


def test_every_image_equals_a_loop():
    generator = np.random.default_rng(0)
    labels = generator.integers(4, size=90)
    before, after = (
        np.where(generator.random((5, 90)) < right, labels, generator.integers(4, size=(5, 90)))
        for right in (0.6, 0.3)
    )
    populations = (Predictions.from_top1(labels, top1) for top1 in (before, after))
    rows = image_changes(*map(count_predictions, populations)).to_dict("records")
    kinds = set()
    for i, row in enumerate(rows):
        modes = []
        for top1 in (before, after):
            votes = Counter(top1[:, i].tolist())
            modes.append(min(votes, key=lambda answer: (-votes[answer], answer)))
        assert [row["before"], row["after"]] == modes
        votes = [Counter(top1[:, i].tolist()) for top1 in (before, after)]
        leaders = [
            {answer for answer in side if side[answer] == max(side.values())} for side in votes
        ]
        right = [labels[i] in leading for leading in leaders]
        kind = (
            "unchanged"
            if leaders[0] & leaders[1]
            else {(1, 0): "newly wrong", (0, 1): "newly correct"}.get(tuple(right), "other wrong")
        )
        assert row["kind"] == kind
        kinds.add(kind)
        np.testing.assert_allclose(
            row["lost_share"],
            (before[:, i] == labels[i]).mean() - (after[:, i] == labels[i]).mean(),
        )
        shares = [
            (top1[:, i] == mode).mean() for top1, mode in zip((before, after), modes, strict=True)
        ]
        np.testing.assert_allclose(
            [row["before_share"], row["after_share"], row["decisiveness"]],
            [*shares, np.prod(shares)],
        )
    assert len(kinds) == 4
