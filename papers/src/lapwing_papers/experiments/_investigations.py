"""Why printed numbers are missed, where many are: which readings were tried, and which of them closes the gap.

The numbers that stand here are printed by the scripts in benchmarks/investigations.
"""

from __future__ import annotations

_BASELINES = (
    "benchmarks/investigations/glpca_baselines.py tries raw data and PCA alone, which have nothing to do with gLPCA."
)
_OCCLUDED = "benchmarks/investigations/glpca_occluded.py tries what the paper leaves open, on raw images and PCA first."
_FACES = (
    "benchmarks/investigations/thesis_faces.py tries other images, starts and graphs for 5, 10, 30 and 68 people, on "
    "k-means, PCA and variance first, which have nothing to do with the thesis's methods."
)
_MEASURED_BEFORE = "and because the results that are kept were measured before it was found."

#: By the name of an experiment.
INVESTIGATIONS: dict[str, str] = {
    "glpca-table-3-kmeans": (
        f"{_BASELINES} One reading closes part of the gap and was taken: PCA and LPP as projections on directions of unit "
        "length. With it 12 of 16 printed accuracies and mutual informations of PCA are met, and 5 without it. On "
        "BinAlpha no reading of the data helps: with the 26 letters, the first 26 signs, rows of unit length, "
        "standardised or scaled columns, and three ways to start k-means, raw images stay 12 to 17 points below the "
        "printed accuracy of 0.598. On AT&T raw images come within 2 points of print with k-means++ and miss by 6 with "
        "random starts, but k-means++ misses COIL20 by 9 points, where random starts meet it. Which 100 images per digit "
        "are taken moves raw USPS from -3 to +4 points, and the paper does not say which. The column of gLPCA itself is "
        "missed by 6 points in the mean with random starts and by 5 with k-means++; heat weights and beta = 0.9 are no "
        "nearer."
    ),
    "glpca-table-3-seminmf": (
        "benchmarks/investigations/glpca_seminmf.py tries raw data and PCA alone, over eight data sets and three "
        "measures. One reading closes part of the gap: PCA without the mean taken off. k-means does not see a shift of "
        "all samples, and semi-NMF does. PCA then misses by 5.4 points in the mean instead of 9.0, and 12 of its 24 "
        "numbers lie within 3 points instead of 8; on AT&T it misses by 1.6 points instead of 12.7. Orthonormal "
        "coordinates come as near (5.7). Neither is taken, because the half of the table with k-means decides for centred "
        f"coordinates with lengths, {_MEASURED_BEFORE} For raw data nothing helps: they miss by 6.1 points with the start "
        "that was taken, by 15.3 with random starts, by 6.9 where they are centred, and by 5.7 where the factors have "
        "length 1 instead of the weights. COIL20 stays 16 points above print, and PCA on BinAlpha 19 below."
    ),
    "glpca-table-4": (
        f"{_BASELINES} No reading of the data closes the gap. Raw BinAlpha stays 8 to 11 points below print with the "
        "nearest neighbour, whatever its scaling. Raw USPS lies 8 points above print with the first 100 images of each "
        "digit, 4 with the last 100, 2 below with the edition of 11,000 images; the nearest neighbour on MNIST moves from "
        "+2 to -7 points with the choice of the 50 images. Two printed numbers of regression do not fit the stated sizes: "
        "53.6 percent on raw MFeat with 20 % labelled, where 400 labelled samples of 216 features give 95, and 80.9 on "
        "raw ISOLET1 with 30 % labelled, where 468 samples of 617 features give 63. PCA and LPP as projections on "
        "directions of unit length are as near to print as the other reading, and are taken here because table 3 decides "
        "for them."
    ),
    "glpca-table-5": (
        f"{_OCCLUDED} Over the five data sets and three measures, the corruption that was taken (uniform noise in a "
        "quarter of the area) is the nearest to print for raw images. It misses by 3.4 points in the mean. Noise in "
        "single pixels misses by 3.9, noise added to the pixels by 4.4, a quarter of each side by 4.8, black and white "
        "pixels by 5.1, a black block by 7.2 and a white one by 11.1. One reading of the coordinates closes part of the "
        "gap: PCA and L21PCA with the lengths of their columns, as table 3 has PCA. PCA then misses by 4.7 points instead "
        "of 6.6. L21PCA misses by 4.9 points instead of 7.9, and 8 of its 15 numbers lie within 3 points instead of 2. "
        f"The reading is not taken, because equation 1 of the paper has orthonormal coordinates, {_MEASURED_BEFORE} "
        "Nothing closes the gap of BinAlpha. Its raw images stay 9 to 15 points below print with every corruption, as "
        "they do without any in table 3, and 12 points below with 1,014 images of all 36 signs."
    ),
    "glpca-table-6": (
        f"{_OCCLUDED} No reading closes the gap. The lengths of coordinates do not matter to regression. Raw images miss "
        "by 6.3 points in the mean, and PCA by 3.6. Of the other corruptions only noise in single pixels is nearer for "
        "raw images (5.3), and it is farther for PCA (4.9). Eight of the nine numbers that miss are BinAlpha's. Its raw "
        "images lie 14 points below print. They lie 9 points below if the number of labelled images is rounded down: "
        "least squares is at its worst where the labelled samples, 12 of each of 26 letters, come to equal the 320 pixels "
        "in number. But PCA then misses by 6.4 points instead of 4.7. Other random images of MNIST and USPS bring PCA "
        "within 1 point of print, from 3 and 2, and leave raw images as far as they were, 4 and 6 points."
    ),
    "thesis-table-2.1": (
        "This table differs from thesis-table-2.2 only in the number of training documents and of neighbours, and LSI "
        "lies above print here too. The readings were tried there: a split by date instead of at random closes most of "
        "the gap, and is not taken for the reasons given there."
    ),
    "thesis-table-2.3": (
        "This table differs from thesis-table-2.2 only in the number of training documents and of neighbours, and LSI "
        "lies above print here too. The readings were tried there: a split by date instead of at random closes most of "
        "the gap, and is not taken for the reasons given there."
    ),
    "thesis-table-2.2": (
        "benchmarks/investigations/thesis_newsgroups.py tries table 2.2, on LSI first, which has nothing to do with LPP. "
        "One reading closes most of the gap: training on the earlier messages and testing on the later ones, as the "
        "bydate version of the data is split, instead of at random. In five dimensions from 100 to 1,000, LSI then misses "
        "by 0.4 points in the mean instead of 13.6, PCA followed by LPP by 3.0 instead of 15.1, and LPP with heat weights "
        "by 5.4 instead of 15.4. The likely reason is that replies of one discussion are easy to tell by each other. A "
        "random split puts them on both sides, and our documents keep their subject lines, which the thesis removed. "
        "Which messages the thesis has cannot be settled. The reading is not taken, because the thesis averages ten "
        "random splits with as many documents per group as it says, and the split by date is one split of 11,314 and "
        "7,532. Euclidean distance instead of the angle comes near as well with random splits (2.3 points for LSI, 4.4 "
        "and 6.2 for the other two), and is not taken because the thesis says that it took the angle. Other words (the "
        "most frequent ones, those in most documents, random ones) or presence instead of counts leave LSI 8 to 13 points "
        "from print."
    ),
    "thesis-table-4.5": (
        f"{_FACES} Two readings together close the gap of k-means and PCA: images scaled to unit length, and of the ten "
        "starts of k-means the one with the highest accuracy, not the one with the lowest objective. k-means on all "
        "pixels then misses by 2.2 points in the mean instead of 5.7, and PCA by 2.1 instead of 8.6. The thesis itself "
        "points to the second reading: its table 6.1 prints k-means on the same images 5 points lower and says that the "
        "objective chooses, where section 4.3.3 says only that the best result was recorded. The readings are not taken. "
        "Nobody who clusters has labels to choose a start by, and the thesis says that images were not processed further. "
        "They do not close the gap of LPP either. Its printed accuracy falls from 0.97 for 5 people to 0.67 for 68, and "
        "ours does not: for 68 people it lies 16 points above print, and 30 with images of unit length. Of six choices of "
        "neighbours, weights and lengths of directions, weights of 1 are the nearest (4.5 points in the mean instead of "
        "7.1). With lights off, with all 42 images or with 24 drawn of them, k-means misses by 21 to 26 points."
    ),
    "thesis-tables-6.1-6.2": (
        f"{_FACES} One reading closes the gap: images scaled to unit length. k-means on all pixels then misses by 2.0 "
        "points in the mean instead of 4.2. With 20, 100 and 300 pixels, variance misses by 2.7 points instead of 6.5, "
        "and 19 of its 24 numbers lie within the tolerance instead of 11. The Laplacian Score, which lies 8.3 points "
        "below print in the mean, comes to 0.1 below, with 16 of 24 numbers within the tolerance instead of 8. The "
        f"reading is not taken, because the thesis says that images were not processed further, {_MEASURED_BEFORE} No "
        "other reading comes as near. Random starts leave 4.7 points for variance and 8.2 for the score. Heat weights and "
        "weights of 1 leave 6.0 and 6.2 for the score. Three more images with lights off leave 5.0 and 11.5. Lights off, "
        "or all 42 images, leave 22 to 40."
    ),
    "thesis-table-5.5": (
        "benchmarks/investigations/thesis_keywords.py tries other readings of LPI and of the documents. One closes the "
        "gap of LPI: fitting LSI and LPI on the documents of all subsets together, which the text of section 5.4.2 can be "
        "read as. LPI then gains 4.3 points on the baseline, where 3.7 are printed and 0.2 are lost with a fit per "
        "subset. It is ahead of LSI on 0.77 of the subsets, where 0.80 are printed and 0.37 are found with a fit per "
        "subset. The reading is not taken, because LPI then needs 29 dimensions in the mean, where 8 are printed and 8 "
        "are needed with a fit per subset, and because the printed dimensions of LSI end at the sizes of the subsets. "
        "Directions of unit length bring a gain of 1.3 points, tf-idf 0.1; weights of 1, 15 neighbours or counts bring "
        "none. LSI gains 1.5 points, where 0.5 are printed. The subsets themselves are made of other terms than the "
        "thesis's keywords, because the public matrix has no vocabulary."
    ),
    "thesis-table-5.7": (
        "benchmarks/investigations/thesis_documents.py tries k-means and LSI, which have nothing to do with LPI, for 2, 5 "
        "and 10 classes. No reading of the method closes the gap. In the mean of accuracy and mutual information k-means "
        "misses by 9.8 points. It misses by 10.5 with random starts, by 10.2 by angle, by 9.7 with tf-idf, by 8.4 with "
        "the start of highest accuracy, and by 55 where documents are not scaled to length 1. LSI misses by 10.5 points, "
        "and by 8.4 with tf-idf. What the gap hangs on is the sizes of the classes, which range from 52 to 1,844 "
        "documents. With at most 400 documents per class k-means misses by 4.5 points, and with at most 100 it lies 6.2 "
        "above print. This is not taken, because the thesis says that all 9,394 documents were used. The likely reason is "
        "that k-means divides a large class that is drawn beside a small one, so that a few draws fail as a whole. The "
        "gap is largest for 2 classes (7 points of accuracy and 22 of mutual information), and at most 2 points in the "
        "draws of 10 classes."
    ),
    "thesis-table-5.8": (
        "benchmarks/investigations/readings.py shows the readings that the table itself measures, in 20 draws. k-means on "
        "the documents as they are lies 9 points of accuracy below print in the mean, 9 with random starts and 8 with "
        "tf-idf. Mutual information over the mean entropy instead of the larger one comes nearer, from 13 points below "
        "print to 9 for k-means and from 11 to 7 for LPI, and is not taken because the thesis defines the other one in "
        "chapter 6. The accuracy of LPI is 2 points below print, with a ridge of 0.1 as well, and half a point with tf-idf. "
        "benchmarks/investigations/thesis_documents.py tries further readings of k-means, for 2, 5 and 10 classes. Two "
        "halve its gap. k-means by angle, whose centres are scaled to length 1 in each step, misses by 5.4 points in the "
        "mean of accuracy and mutual information instead of 10.0; the start with the highest accuracy instead of the "
        "lowest objective misses by 4.9. With mutual information over the mean entropy both miss by 3.6. The first is not "
        "taken because the thesis speaks of k-means alone and because it does not help on TDT2 (table 5.7), the second "
        "because nobody who clusters has labels to choose by. With at most 100 documents per class k-means lies 5 points "
        "above print: what makes it fail are classes of very different size, and the thesis averages 50 draws of its own."
    ),
    "thesis-table-7.1": (
        "The thesis tells 68 people apart, and only 10 of them are at hand in five poses. "
        "benchmarks/investigations/thesis_people.py measures how much that makes out with raw pixels, which have no "
        "parameter to choose. In five poses their error grows with the number of people: with 5 training images it is 26 "
        "percent for 2 people, 47 for 5 and 60 for 10, where 69.9 is printed for 68. In the frontal pose all people are "
        "at hand. There the error is 6 to 10 points lower for 10 people than for 68, with 2 to 10 training images. That "
        "is the size of the gap, which is 10 points with 5 training images and 4 with 30. Of the readings of the images, "
        "unit length and standardising each image lower the error further, to 17 and 20 points below print in the mean "
        "instead of 7. Only images of 16 x 16 come nearer (4 points), and the thesis says 32 x 32."
    ),
}
