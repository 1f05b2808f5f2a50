import numpy as np

import tfaudit

rng = np.random.default_rng(0)
truth = rng.integers(0, 10, 5000)  # unknown in practice
before = np.where(rng.random(5000) < 0.9, truth, (truth + 1) % 10)
after = np.where(rng.random(5000) < 0.02, (before + 1) % 10, before)

differ = np.flatnonzero(before != after)  # label these
labels = before.copy()
labels[differ] = truth[differ]

limits = tfaudit.Limits(overall_drop_pp=3)
dense, int8 = (tfaudit.Predictions.from_top1(labels, top1) for top1 in (before, after))
verdict = tfaudit.gate(dense, int8, limits)
print(f"{len(differ)} labels of {len(truth)}: {verdict.outcome}")
