"""The works that reports cite, by their keys in brackets."""

import re
from collections.abc import Iterable

SOURCES = dict(
    line.split(" ", 1)
    for line in """
F S. Hooker, A. Courville, G. Clark, Y. Dauphin, A. Frome. What Do Compressed Deep Neural Networks Forget? arXiv:\
1911.05248.
A S. Hooker, Y. Dauphin, A. Courville, A. Frome. Selective Brain Damage: Measuring the Disparate Impact of Model \
Pruning. The interactive article of [F].
R A. Good, J. Lin, X. Yu, H. Sieg, M. Ferguson, S. Zhe, J. Wieczorek, T. Serra. Recall Distortion in Neural Network \
Pruning and the Undecayed Pruning Algorithm. NeurIPS 2022.
P M. Paganini. Prune Responsibly. arXiv:2009.09936.
W B. L. Welch. The generalization of ‘Student’s’ problem when several different population variances are involved. \
Biometrika 34, 1947.
H S. Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, 1979.
BH Y. Benjamini, Y. Hochberg. Controlling the false discovery rate. Journal of the Royal Statistical Society B 57, 1995.
PS B. Phipson, G. K. Smyth. Permutation p-values should never be zero. Statistical Applications in Genetics and \
Molecular Biology 9, 2010.
M Q. McNemar. Note on the sampling error of the difference between correlated proportions or percentages. \
Psychometrika 12, 1947.
T T. Tango. Equivalence test and confidence interval for the difference in proportions for the paired-sample design. \
Statistics in Medicine 17, 1998.
B J. Buolamwini, T. Gebru. Gender Shades: Intersectional Accuracy Disparities in Commercial Gender Classification. \
FAT* 2018.
G C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger. On Calibration of Modern Neural Networks. ICML 2017.
Ku A. Kumar, P. Liang, T. Ma. Verified Uncertainty Calibration. NeurIPS 2019.
KL S. Kullback, R. A. Leibler. On Information and Sufficiency. Annals of Mathematical Statistics 22, 1951.
Du A. Dutta, S. Krishnan, N. Kwatra, R. Ramjee. Accuracy is Not All You Need. NeurIPS 2024.
Do S. Eyuboglu, M. Varma, K. Saab, J.-B. Delbrouck, C. Lee-Messer, J. Dunnmon, J. Zou, C. Re. Domino: Discovering \
Systematic Errors with Cross-Modal Embeddings. ICLR 2022.
Sp G. d'Eon, J. d'Eon, J. R. Wright, K. Leyton-Brown. The Spotlight: A General Method for Discovering Systematic \
Errors in Deep Learning Models. FAccT 2022.
De E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson. Comparing the Areas under Two or More Correlated Receiver \
Operating Characteristic Curves: A Nonparametric Approach. Biometrics 44, 1988.
SX X. Sun, W. Xu. Fast Implementation of DeLong's Algorithm for Comparing the Areas Under Correlated Receiver \
Operating Characteristic Curves. IEEE Signal Processing Letters 21, 2014.
Y S. Yan, Y. Xiong, K. Kundu, S. Yang, S. Deng, M. Wang, W. Xia, S. Soatto. Positive-Congruent Training: Towards \
Regression-Free Model Updates. CVPR 2021.
C A. C. Cameron, J. B. Gelbach, D. L. Miller. Robust Inference With Multiway Clustering. Journal of Business & \
Economic Statistics 29, 2011.
Ch L. Chen. Testing the Mean of Skewed Distributions. Journal of the American Statistical Association 90, 1995.
Co W. G. Cochran. Approximate significance levels of the Behrens-Fisher test. Biometrics 20, 1964.
BP D. G. Bonett, R. M. Price. Adjusted Wald Confidence Interval for a Difference of Binomial Proportions Based on \
Paired Data. Journal of Educational and Behavioral Statistics 37, 2012.
Mi E. Miller. Adding Error Bars to Evals: A Statistical Approach to Language Model Evaluations. arXiv 2411.00640, 2024.
Ki L. Kish. Survey Sampling. Wiley, 1965.
IK G. W. Imbens, M. Kolesár. Robust Standard Errors in Small Samples: Some Practical Advice. Review of Economics and \
Statistics 98, 2016.
ZD G. Y. Zou, A. Donner. Construction of confidence limits about effect measures: a general approach. Statistics in \
Medicine 27, 2008.
CP C. J. Clopper, E. S. Pearson. The use of confidence or fiducial limits illustrated in the case of the binomial. \
Biometrika 26, 1934.
FF M. P. Fay, E. J. Feuer. Confidence intervals for directly standardized rates: a method based on the gamma \
distribution. Statistics in Medicine 16, 1997.
HB M. Hashemizadeh, J. Ramirez, R. Sukumaran, G. Farnadi, S. Lacoste-Julien, J. Gallego-Posada. Balancing Act: \
Constraining Disparate Impact in Sparse Models. ICLR 2024.
HD D. Hendrycks, T. Dietterich. Benchmarking Neural Network Robustness to Common Corruptions and Perturbations. ICLR \
2019.
Sm G. K. Smyth. Linear models and empirical Bayes methods for assessing differential expression in microarray \
experiments. Statistical Applications in Genetics and Molecular Biology 3, 2004.
La N. Laird. Nonparametric maximum likelihood estimation of a mixing distribution. Journal of the American \
Statistical Association 73, 1978.
Ja L. A. Jaeckel. The Infinitesimal Jackknife. Bell Laboratories Memorandum MM 72-1215-11, 1972.
MV S. A. Murphy, A. W. van der Vaart. On profile likelihood. Journal of the American Statistical Association 95, 2000.
K J. L. Fleiss. Measuring nominal scale agreement among many raters. Psychological Bulletin 76, 1971.
GQ E. Frantar, S. Ashkboos, T. Hoefler, D. Alistarh. GPTQ: Accurate Post-Training Quantization for Generative \
Pre-trained Transformers. ICLR 2023.
LT A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L. Lei. Learn then Test: Calibrating Predictive \
Algorithms to Achieve Risk Control. arXiv:2110.01052.
Wi B. L. Wiens. A fixed sequence Bonferroni procedure for testing multiple endpoints. Pharmaceutical Statistics 2, 2003.
Se S. R. Searle, G. Casella, C. E. McCulloch. Variance Components. Wiley, 1992.
Li T.-Y. Lin, M. Maire, S. Belongie, J. Hays, P. Perona, D. Ramanan, P. Dollár, C. L. Zitnick. Microsoft COCO: Common \
Objects in Context. ECCV 2014.
KD K. Kim, D. L. DeMets. Design and analysis of group sequential tests based on the type I error spending rate \
function. Biometrika 74, 1987.
Mo A. Mohammadshahi, Y. Ioannou. What is Left After Distillation? How Knowledge Transfer Impacts Fairness and Bias. \
Transactions on Machine Learning Research, 2025. arXiv:2410.08407.
Sl E. Slyman, A. Kanneganti, S. Hong, S. Lee. You Never Know: Quantization Induces Inconsistent Biases in \
Vision-Language Foundation Models. arXiv:2410.20265.
Ni M. Nikolić, A. Hadi Zadeh, E. Torres Sanchez, A. Moshovos. Displacement Is Not Direction: Evaluating Fidelity \
Metrics for Quantized LLM Deployment. arXiv:2606.19558.
""".strip().splitlines()
)
"""References by key, in the order of the reports' lists."""


def cited(texts: Iterable[str]) -> dict[str, str]:
    """Return the sources whose keys occur in the texts.

    Raises:
        KeyError: a key without a source.

    Example:
        >>> list(cited(["[W] and [F] 2.2"]))
        ['F', 'W']
    """
    keys = {key for text in texts for key in re.findall(r"\[([A-Z][A-Za-z]*)\]", text)}
    if unknown := keys - SOURCES.keys():
        raise KeyError(f"no source for {', '.join(sorted(unknown))}")
    return {key: source for key, source in SOURCES.items() if key in keys}
