"""
What did the small models forget?
=================================

Eight small networks of scikit-learn learn the digits, and each is pruned: the smallest 60 % of its weights are set to
zero. tfaudit needs no TensorFlow here, only the predictions of both populations.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import tfaudit

x, y = load_digits(return_X_y=True)
train, test = slice(0, 1000), slice(1000, None)


def trained(seed):
    network = MLPClassifier((64,), tol=0.01, learning_rate_init=0.01, random_state=seed)
    return network.fit(x[train] / 16, y[train])


def pruned(network, share):
    layers = []
    for kernel in network.coefs_:
        least = np.quantile(abs(kernel), share)
        layers.append(np.where(abs(kernel) < least, 0, kernel))
    hidden = np.maximum(x[test] / 16 @ layers[0] + network.intercepts_[0], 0)
    return hidden @ layers[1] + network.intercepts_[1]


networks = [trained(seed) for seed in range(8)]
before = tfaudit.Predictions.from_scores(
    y[test], np.array([pruned(network, 0) for network in networks])
)
after = tfaudit.Predictions.from_scores(
    y[test], np.array([pruned(network, 0.6) for network in networks])
)
print(f"accuracy {before.accuracy().mean():.3f} before, {after.accuracy().mean():.3f} after")

# %%
# Classes
# -------
#
# Which digits lose recall? Intervals are over images and networks, and full colour is claimed after Holm's correction.

impact = tfaudit.class_impact(before, after, paired=True)
class_chart = impact.chart()
impact

# %%
# Images
# ------
#
# The images whose majority prediction changes (PIEs, [F] 2.3) are hard for the unpruned networks already.

exemplars = tfaudit.exemplars(before, after)
difficulty_chart = exemplars.chart()
exemplars.summary()

# %%
# Chance
# ------
#
# How many such images would there be if pruning did nothing? Networks are reassigned to the two groups at random.

by_chance = tfaudit.chance(before, after, permutations=200, paired=True)
chance_chart = by_chance.chart()
by_chance
