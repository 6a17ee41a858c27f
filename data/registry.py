"""The known data sets, with their files, the sha256 of the unpacked bytes, download addresses, licences and classes.

A digest is the digest of the unpacked bytes, so a file may have any compression. SOURCES.md explains how each digest
was obtained.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from nfa import require


@dataclass(frozen=True)
class File:
    """One file of a data set. On the disk, its name may also end in `.gz`."""

    name: str
    sha256: str  # of the unpacked bytes


@dataclass(frozen=True)
class Variant:
    """One complete set of files. A second variant of a data set does not have the published bytes, as its note states.

    With the layout "idx", the files are in the order training images, training labels, test images, test labels. With
    "cifar", the training batches precede the test batch.
    """

    files: tuple[File, ...]
    n_train: int
    n_test: int
    note: str = ""


@dataclass(frozen=True)
class Download:
    """A file on the network, with its name, its digest in pooch's format, and its addresses in order of preference."""

    name: str
    digest: str
    urls: tuple[str, ...]


@dataclass(frozen=True)
class DatasetInfo:
    """The facts about a data set that are known before nfa reads the files."""

    name: str  # name that a user types
    title: str  # name in prose, such as Fashion-MNIST
    layout: str  # "idx", "cifar" or "npz" (embedded), for the reader in `nfa.data.dataset.LAYOUTS`
    folder: str  # name of the folder in a data folder; for "npz", name of the embedded file
    shape: tuple[int, int, int]  # (c, H, W) of an image
    class_names: tuple[str, ...]
    licence: str
    origin: str  # the publication or page to cite
    variants: tuple[Variant, ...]
    downloads: tuple[Download, ...] = ()

    @property
    def classes(self) -> int:
        """Number of classes; labels are 0 .. classes - 1."""
        return len(self.class_names)

    @property
    def by_hand(self) -> str:
        """Advice about where to put the files; "" if there is a download or the data are embedded."""
        if self.downloads or self.layout == "npz":
            return ""
        return f"no download is known: put the files into NFA_DATA_HOME/{self.folder}"


GARMENTS = tuple("T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot".split(","))

_MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_FASHION_MIRRORS = (
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
)


def _from_mirrors(mirrors: tuple[str, ...], name: str, sha256: str) -> Download:
    return Download(name, f"sha256:{sha256}", tuple(mirror + name for mirror in mirrors))


# To add a data set, write an entry here and a paragraph in SOURCES.md. Lists, messages and help use the entry.
ENTRIES = (
    DatasetInfo(
        name="fashion-mnist-small",
        title="subset of Fashion-MNIST",
        layout="npz",
        folder="fashion-mnist-small.npz",
        shape=(1, 28, 28),
        class_names=GARMENTS,
        licence="MIT (Zalando SE)",
        origin="drawn from Fashion-MNIST, see the section below",
        variants=(
            Variant(
                files=(
                    File("fashion-mnist-small.npz", "8571e6355c1489faafb8e15bbdf691a38a175534036b61c7c86ff31a2d5b5223"),
                ),
                n_train=6_000,
                n_test=1_000,
                note="subset of Fashion-MNIST, 600 training and 100 test images a class",
            ),
        ),
    ),
    DatasetInfo(
        name="fashion-mnist",
        title="Fashion-MNIST",
        layout="idx",
        folder="fashion-mnist",
        shape=(1, 28, 28),
        class_names=GARMENTS,
        licence="MIT (Zalando SE)",
        origin="Xiao, Rasul, Vollgraf (2017), arXiv:1708.07747, https://github.com/zalandoresearch/fashion-mnist",
        variants=(
            Variant(
                files=(
                    File("train-images-idx3-ubyte", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"),
                    File("train-labels-idx1-ubyte", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
                    File("t10k-images-idx3-ubyte", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"),
                    File("t10k-labels-idx1-ubyte", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
                ),
                n_train=60_000,
                n_test=10_000,
            ),
        ),
        downloads=tuple(
            _from_mirrors(_FASHION_MIRRORS, name, sha256)
            for name, sha256 in (
                ("train-images-idx3-ubyte.gz", "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
                ("train-labels-idx1-ubyte.gz", "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
                ("t10k-images-idx3-ubyte.gz", "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
                ("t10k-labels-idx1-ubyte.gz", "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
            )
        ),
    ),
    DatasetInfo(
        name="mnist",
        title="MNIST",
        layout="idx",
        folder="mnist",
        shape=(1, 28, 28),
        class_names=tuple("0123456789"),
        licence="CC BY-SA 3.0 (Yann LeCun, Corinna Cortes)",
        origin="LeCun, Bottou, Bengio, Haffner (1998), Proc. IEEE 86(11)",
        variants=(
            Variant(
                files=(
                    File("train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
                    File("train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
                    File("t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
                    File("t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
                ),
                n_train=60_000,
                n_test=10_000,
            ),
        ),
        downloads=tuple(
            _from_mirrors(_MNIST_MIRRORS, name, sha256)
            for name, sha256 in (
                ("train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
                ("train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
                ("t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
                ("t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
            )
        ),
    ),
    DatasetInfo(
        name="cifar-10",
        title="CIFAR-10",
        layout="cifar",
        folder="cifar-10-batches-bin",
        shape=(3, 32, 32),
        class_names=tuple("airplane automobile bird cat deer dog frog horse ship truck".split()),
        licence="none stated; cite Krizhevsky 2009",
        origin="Krizhevsky (2009), https://www.cs.toronto.edu/~kriz/cifar.html",
        variants=(
            Variant(
                files=(
                    File("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
                    File("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
                    File("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
                    File("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
                    File("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
                    File("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
                ),
                n_train=50_000,
                n_test=10_000,
            ),
            Variant(
                files=(
                    File("data_batch_1.bin", "fe05052e22c74f19ddf2cd7e8c2d4965b2f6345c28b87bdb28b2bfb8c7dd7587"),
                    File("data_batch_2.bin", "4b4f662371b2c881419b4d05a96d53242fe9fe63b3b094724cbae1926cb0ae75"),
                    File("test_batch.bin", "18fde75bb6b08389d237f73ff3863b75b88eb8920dadf3900bc92e4e644e6545"),
                ),
                n_train=20_000,
                n_test=10_000,
                note="JPEG copies, 20,000 training images (two of five batches)",
            ),
        ),
        downloads=(
            Download(
                "cifar-10-binary.tar.gz",
                # The authors publish this digest; each file in the archive has a sha256 here.
                "md5:c32a1d4ab5d03f1284b67883e8d87530",
                (
                    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                    "https://storage.googleapis.com/s4tf-hosted-binaries/datasets/CIFAR10/cifar-10-binary.tar.gz",
                ),
            ),
        ),
    ),
)

# Data sets of vectors instead of images, which `nfa.data.libsvm` reads or draws.
VECTORS = ("epsilon", "epsilon-stand-in", "epsilon-or-stand-in")


def by_name(entries: Iterable[DatasetInfo]) -> dict[str, DatasetInfo]:
    """The entries by name. Raises ValueError if two data sets have the same name."""
    named: dict[str, DatasetInfo] = {}
    for info in entries:
        if info.name in named or info.name in VECTORS:
            raise ValueError(f"{info.name}: another data set has this name: choose a new name")
        named[info.name] = info
    return named


DATASETS = by_name(ENTRIES)


def find(name: str, own: bool = False) -> DatasetInfo:
    """The entry of a data set by its name.

    Parameters
    ----------
    name : name of a data set
    own : whether the user may also give the path of an own file. The message then mentions this

    Raises
    ------
    ValueError : if there is no such data set. The message lists all known data sets and the nearest names
    """
    if name in DATASETS:
        return DATASETS[name]
    if name in VECTORS:
        raise ValueError(f"nfa can train on {name}, but cannot list or download this data set: see data/SOURCES.md")
    else_ = " or, to load your own, the path of an .npz or a .csv file" * own
    close = require.meant(name, DATASETS)
    raise ValueError(f"dataset must be one of {', '.join(DATASETS)}{else_}, got {name!r}{close}")
