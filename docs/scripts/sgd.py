from sklearn.linear_model import SGDClassifier

import tfaudit

train, test = tfaudit.load_dataset("digits", "train"), tfaudit.load_dataset("digits", "test")
dense, pruned = [], []  # scores (images, classes) of every member
for seed in range(5):
    member = SGDClassifier(max_iter=20, tol=None, random_state=seed).fit(
        train.images.reshape(-1, 64), train.labels
    )
    dense.append(member.decision_function(test.images.reshape(-1, 64)))
    member.coef_[abs(member.coef_) < 700] = 0  # your compression
    pruned.append(member.decision_function(test.images.reshape(-1, 64)))

before, after = (tfaudit.Predictions.from_scores(test.labels, scores) for scores in (dense, pruned))
tfaudit.store.import_predictions(
    "runs/sgd", before, {"pruned": after}, name="sgd", paired=["pruned"]
)
