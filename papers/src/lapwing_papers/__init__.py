"""The published experiments, and what only they need: a distribution of its own, which lapwing works without.

lapwing implements methods of five papers, and repeats the papers' tables and figures to show that it computes what they
describe. Here are the :mod:`~lapwing_papers.experiments`, which ``python -m lapwing_papers`` runs, the
:mod:`~lapwing_papers.datasets` they are measured on, and what the papers use beside their methods or compare with:

- :mod:`~lapwing_papers.features`: histograms of local binary patterns, by which the Laplacian PCA paper describes faces;
- :mod:`~lapwing_papers.histograms`: the chi-square distance, by which it compares them, and the search by it;
- :mod:`~lapwing_papers.recognition`: random-sampling subspace LDA, by which that paper recognises them;
- :mod:`~lapwing_papers.factorisation`: semi-NMF, a clustering that graph-Laplacian PCA is compared with;
- :mod:`~lapwing_papers.retrieval`: the measures by which He's thesis judges spaces of documents.

>>> from lapwing_papers.datasets import make_scherk
>>> X, coordinates = make_scherk(500, random_state=0)
>>> X.shape, coordinates.shape
((500, 3), (500, 2))
"""
