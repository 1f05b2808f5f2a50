"""[P] 4.1: whose handwriting does a LeNet of 800 weights forget? Dense against 98.6 % pruned, K = 6.

Question ([P] 4.1): whom does pruning harm while the average accuracy stays high? QMNIST names the writer of each of
MNIST's digits: census employees (series hsf0) or high-school students (hsf4), 297 writers in the test set. The LeNet is
[P]'s (3x3 kernels, SGD .01, batch 32), with all kernels ranked together, pruned gradually during 10 epochs of training;
[P] prunes in 20 rounds of 30 epochs and rewinds, which loses far more (97 % to 78 %).

    tfaudit prepare qmnist --from FOLDER    # MNIST's four IDX files and QMNIST's labels
    tfaudit run qmnist_writers

Cost: 12 trainings of 10 epochs (18,750 steps), about 35 s each on one thread.

Measured on MNIST's 60,000 + 10,000 digits by that command, in seven minutes of a busy core; PIEs without the 69 digits
on which the models tie:

    variant           size kB  gzipped kB  top-1   top-5  classes  PIEs  by chance      p
    dense                 279         226  98.75  100.00        -     -          -      -
    magnitude 98.6 %      279        9.79  98.02   99.97        1    69         40  .0043

    series           digits  before, %  after, %  change, points        from the average
    hsf0, employees   4,999      99.38     98.92   -.45 (-.66, -.24)  +.27 (.12 to .43)
    hsf4, students    5,001      98.12     97.11  -1.00 (-1.40, -.60)  -.27 (-.43 to -.12)

Intervals are over digits and models. Both groups lose accuracy, and students more than employees (p = .0019). Only
threes are shown to lose recall after Holm, 1.3 points (.5 to 2.0).

The dense models are right on 67.9 % (95 % interval over models 62.7 to 73.0) of the PIEs and on 99.0 % of the other
digits, by `exemplars(...).difficulty` ([F] table 6). Students wrote 50 % of the digits and 75 % of the PIEs
(p < .0001). Writers with tilted digits lose more in both series: accuracy changes by -.025 (hsf0, p = .004) and -.048
(hsf4, p = .03) per unit of absolute tilt.
"""

from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned

study = Study(
    name="qmnist_writers",
    dataset="qmnist",
    model="lenet_p",
    training=Training(epochs=10, batch_size=32, learning_rate=0.01),
    variants=(Pruned(0.986, scope="global"),),
    population=6,
)
