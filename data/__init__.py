"""Data sets: readers for untrusted files, a registry with digests, the search for files, and the input of a network.

`load("fashion-mnist-small")` works offline on every machine. SOURCES.md names the sources of the data.
"""

if __name__ != "nfa.data":
    raise ImportError("import nfa.data, not data")

from nfa.data.cifar import read_cifar
from nfa.data.dataset import Dataset, is_own, load, load_to_predict
from nfa.data.idx import read_idx
from nfa.data.libsvm import binary_labels, read_libsvm
from nfa.data.npz import read_npz
from nfa.data.own_data import Examples
from nfa.data.registry import DATASETS
from nfa.data.search import DataUnavailable, Listed, fetch, list_datasets, path
from nfa.data.transforms import Scale, one_hot, scale_pixels, split_validation

__all__ = [
    "DATASETS",
    "DataUnavailable",
    "Dataset",
    "Examples",
    "Listed",
    "Scale",
    "binary_labels",
    "fetch",
    "is_own",
    "list_datasets",
    "load",
    "load_to_predict",
    "one_hot",
    "path",
    "read_cifar",
    "read_idx",
    "read_libsvm",
    "read_npz",
    "scale_pixels",
    "split_validation",
]
