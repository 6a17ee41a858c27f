"""The commands `nfa data`: list the data sets, print their paths and download them."""

from typing import Annotated

from nfa.cli.layout import hanging, output, plain_table, right, unbroken
from nfa.cli.terminal import AsJson, DataDir, argument, print_json


def data_list(data_dir: DataDir = None, json: AsJson = False) -> None:
    """List the data sets with their sizes, their licences and their places on this machine.

    Example:
    nfa data list
    """
    from nfa import data

    listed = data.list_datasets(data_dir)
    if json:
        print_json(listed)
        return
    console = output()
    numbers = (right(name, no_wrap=True) for name in ("train", "test", "image"))
    table = plain_table(unbroken("name"), *numbers, unbroken("where"))
    for row in listed:
        shape = "x".join(map(str, row.shape))  # as in --net
        table.add_row(row.name, f"{row.n_train:,}", f"{row.n_test:,}", shape, row.found or "not here")
    console.print(table)
    console.print()
    for row in listed:
        about = f"{row.classes} classes; licence {row.licence}{'; ' + row.note if row.note else ''}"
        console.print(hanging(row.name, about, 21))
    console.print()
    console.print("`nfa data fetch NAME` downloads a data set that is not on this machine.")
    for row in listed:
        by_hand = data.DATASETS[row.name].by_hand
        if by_hand and not row.found:
            console.print(f"For {row.name}, {by_hand}.")


def data_fetch(
    name: Annotated[str, argument(metavar="NAME", help="Name of a data set in `nfa data list`.")],
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Download a data set into the user cache, unless the data set is already on this machine.

    Example:
    nfa data fetch fashion-mnist
    """
    from nfa import data

    place = data.fetch(name, data_dir)
    if json:
        print_json({"name": name, "path": place})
    else:
        print(f"the data set {name} is in {place}")


def data_path(
    name: Annotated[str | None, argument(metavar="NAME", help="Name of a data set in `nfa data list`.")] = None,
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Print the path of a data set or, without a name, the path of each data set on this machine.

    Example:
    nfa data path fashion-mnist-small
    """
    from nfa import data

    if name is not None:
        found = {name: data.path(name, data_dir)}
    else:
        found = {row.name: data.path(row.name, data_dir) for row in data.list_datasets(data_dir) if row.found}
    if json:
        print_json([{"name": one, "path": place} for one, place in found.items()])
    elif name is not None:
        print(found[name])
    else:
        for one, place in found.items():
            print(f"{one:20} {place}")
