"""What does a small convnet on real digits forget? Two pruning levels, four quantizations, K = 10.

The first study to run: its data, 1,797 real digits of 8x8 pixels, comes with scikit-learn, and it takes about a minute
on two cores. Its design is a small version of [F] 2.4: K independently trained members per pruning level, quantized
variants made from the dense members, Welch's tests per class, pruning identified exemplars (PIEs); and four corruptions
at three severities.

    tfaudit run digits

Measured by that command on two cores. Significant classes are of 10, of which .5 are expected by chance. Ties are
images, of 600, whose two best classes have exactly the same score in a member; each counts one half:

    variant                       size kB  gzipped kB  top-1   top-5  classes  Holm  BH  PIEs  ties
    dense                            89.7        54.5  98.80  100.00        -     -   -     -     -
    magnitude 50 %                   89.7        33.3  98.43  100.00        1     0   0     2     -
    magnitude 90 %                   89.7        10.9  96.45  100.00        3     2   2     6     -
    float16                          33.9        27.8  98.80  100.00        0     0   0     0     -
    dynamic range int8               22.5        18.4  98.80  100.00        0     0   0     0     -
    fixed-point int8                 22.8        17.0  98.82  100.00        0     0   0     0    .8
    fixed-point int8, last float     24.7        18.9  98.82  100.00        0     0   0     0     -
"""

from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized

study = Study(
    name="digits",
    dataset="digits",
    model="digits_convnet",
    training=Training(epochs=20, batch_size=32, learning_rate=0.05, decay="cosine", momentum=0.9),
    variants=(
        *(Pruned(0.5), Pruned(0.9)),
        *(
            Quantized("float16"),
            Quantized("dynamic_range"),
            Quantized("int8"),
            Quantized("int8", float_layers="last"),
        ),
    ),
    population=10,
    corruptions=("gaussian_noise", "glass_blur", "fog", "contrast"),
    severities=(1, 3, 5),
)
