"""[P] 4.1: whose handwriting does a LeNet of 800 weights forget? Dense against 98.6 % pruned, K = 6.

Question ([P] 4.1): whom does pruning harm while the average accuracy stays high? QMNIST names the writer of each of
MNIST's digits: census employees (series hsf0) or high-school students (hsf4), 297 writers in the test set. The LeNet is
[P]'s (3x3 kernels, SGD .01, batch 32), with all kernels ranked together, pruned gradually during 10 epochs of training;
[P] prunes in 20 rounds of 30 epochs and rewinds, which loses far more (97 % to 78 %).

    tfaudit prepare qmnist --from FOLDER    # MNIST's four IDX files and QMNIST's labels
    tfaudit run qmnist_writers

Cost: 12 trainings of 10 epochs (18,750 steps), about 35 s each on one thread.

Measured on MNIST's 60,000 + 10,000 digits:

    variant           size kB  gzipped kB  top-1   top-5  classes  PIEs  by chance      p
    dense                 279         226  98.75  100.00        -     -          -      -
    magnitude 98.6 %      279        9.79  98.02   99.97        1   104         75  .0022

    series           digits  before, %  after, %  change  p (Holm)
    hsf0, employees   4,999      99.38     98.92    -.45     .0025  favoured
    hsf4, students    5,001      98.12     97.11   -1.00     .0025  harmed

The dense models are right on 67.6 % (95 % interval 62.2 to 73.0) of the PIEs and on 99.1 % of the other digits, by
`exemplars(...).difficulty` ([F] table 6).

Students lose more than twice as much. They wrote 50 % of the digits and 76 % of the PIEs (p < .0001). Writers with
tilted digits lose more in both series: accuracy changes by -.025 (hsf0, p = .004) and -.048 (hsf4, p = .03) per unit of
absolute tilt. Writer 2596 falls from 94 % to 82 %.
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
