"""Why printed numbers are missed, where many are: which readings were tried, and which of them closes the gap.

The numbers that stand here are printed by the scripts in benchmarks/investigations.
"""

from __future__ import annotations

_BASELINES = (
    "benchmarks/investigations/glpca_baselines.py tries raw data and PCA alone, which have nothing to do with gLPCA."
)

#: By the name of an experiment.
INVESTIGATIONS: dict[str, str] = {
    "glpca-table-3-kmeans": (
        f"{_BASELINES} One reading closes part of the gap and was taken: PCA and LPP as projections on directions of unit "
        "length. With it 12 of 16 printed accuracies and mutual informations of PCA are met, and 5 without it. On BinAlpha no "
        "reading of the data helps: with the 26 letters, the first 26 signs, rows of unit length, standardised or scaled "
        "columns, and three ways to start k-means, raw images stay 12 to 17 points below the printed accuracy of 0.598. On AT&T "
        "raw images come within 2 points of print with k-means++ and miss by 6 with random starts, but k-means++ misses COIL20 "
        "by 9 points, where random starts meet it. Which 100 images per digit are taken moves raw USPS from -3 to +4 points, "
        "and the paper does not say which. The column of gLPCA itself is missed by 6 points in the mean with random starts and "
        "by 5 with k-means++; heat weights and beta = 0.9 are no nearer."
    ),
    "glpca-table-3-seminmf": (
        "The data and coordinates are those of the table with k-means, and what was found there holds here: no reading of "
        "BinAlpha brings its raw images near the printed numbers, and which images of USPS were taken is not known."
    ),
    "glpca-table-4": (
        f"{_BASELINES} No reading of the data closes the gap. Raw BinAlpha stays 8 to 11 points below print with the nearest "
        "neighbour, whatever its scaling. Raw USPS lies 8 points above print with the first 100 images of each digit, 4 with the "
        "last 100, 2 below with the edition of 11,000 images; the nearest neighbour on MNIST moves from +2 to -7 points with "
        "the choice of the 50 images. Two printed numbers of regression do not fit the stated sizes: 53.6 percent on raw MFeat "
        "with 20 % labelled, where 400 labelled samples of 216 features give 95, and 80.9 on raw ISOLET1 with 30 % labelled, "
        "where 468 samples of 617 features give 63. PCA and LPP as projections on directions of unit length are as near to "
        "print as the other reading, and are taken here because table 3 decides for them."
    ),
    "thesis-table-5.8": (
        "Of the readings that the table itself measures (benchmarks/investigations/readings.py, 15 of 20 draws), none closes the "
        "gap. k-means on the documents as they are lies 8 points of accuracy below print in the mean, 7 with random starts and "
        "with tf-idf. Mutual information over the mean entropy instead of the larger one comes nearer, from 11 points below "
        "print to 7 for k-means and from 9 to 5 for LPI, and is not taken because the thesis defines the other one in chapter 6. "
        "LPI's accuracy is 2 points below print, and 1 with tf-idf. The classes are drawn at random and differ much in size; "
        "the thesis averages 50 draws of its own."
    ),
    "thesis-table-7.1": (
        "The thesis tells 68 people apart and only 10 of them are at hand. Fewer people are told apart more easily, by raw "
        "pixels and Eigenfaces too; no reading of the method can close that."
    ),
}
