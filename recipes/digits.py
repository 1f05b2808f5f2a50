"""What does a small convnet on real handwritten digits forget? Pruning 50 % and 90 %, three quantizations, K = 10.

The first study to run: the data (1,797 real digits of 8x8 pixels) comes with scikit-learn, and the whole study takes
about a minute on two cores. Its design is that of [F] 2.4 in small: K independently trained members per pruning level,
quantized variants made from the dense members, Welch tests per class, pruning identified exemplars.

    tfaudit run digits
"""

from tfaudit.study import Study, Training
from tfaudit.variants import Pruned, Quantized

study = Study(
    name="digits",
    dataset="digits",
    model="digits_convnet",
    training=Training(epochs=20, batch_size=32, learning_rate=0.05, decay="cosine", momentum=0.9),
    variants=(
        Pruned(0.5),
        Pruned(0.9),
        Quantized("float16"),
        Quantized("dynamic_range"),
        Quantized("int8"),
    ),
    population=10,
)
