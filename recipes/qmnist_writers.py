"""[P] 4.1 on MNIST with QMNIST's writers: dense against 98.6 % pruned LeNets, K = 6.

Question ([P] 4.1): whose handwriting does a LeNet of about 800 weights forget?
"""

from tfaudit.study import Study, Training
from tfaudit.variants import Pruned

study = Study(
    name="qmnist_writers",
    dataset="qmnist",
    model="lenet_p",
    training=Training(epochs=10, batch_size=32, learning_rate=0.01),
    variants=(Pruned(0.986, scope="global"),),
    population=6,
)
