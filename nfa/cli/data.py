"""The commands `nfa data`: where the data sets are, and what fetches them."""

from typing import Annotated

import typer

from nfa.cli.layout import hanging, output, plain_table
from nfa.cli.terminal import AsJson, DataDir, example, print_json

data_app = typer.Typer(rich_markup_mode=None, epilog=example("nfa data list", "nfa data path fashion-mnist-small"))


@data_app.command("list", short_help="List the data sets and where they are.", epilog=example("nfa data list"))
def data_list(data_dir: DataDir = None, json: AsJson = False) -> None:
    """List the data sets: size, licence, and where they are on this machine."""
    from nfa import data

    listed = data.list_datasets(data_dir)
    if json:
        print_json(listed)
        return
    console = output()
    table = plain_table()
    for column in ("name", "train", "test", "image"):
        table.add_column(column, justify="left" if column == "name" else "right", no_wrap=True)
    table.add_column("where", no_wrap=True)
    for row in listed:
        shape = "x".join(map(str, row.shape))  # as --net has it
        table.add_row(row.name, f"{row.n_train:,}", f"{row.n_test:,}", shape, row.found or "not here")
    console.print(table)
    console.print()
    for row in listed:
        about = f"{row.classes} classes; licence {row.licence}{'; ' + row.note if row.note else ''}"
        console.print(hanging(row.name, about, 21))
    console.print()
    console.print("`nfa data fetch NAME` downloads one that is not here.")


@data_app.command("fetch", short_help="Download a data set.", epilog=example("nfa data fetch fashion-mnist"))
def data_fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="A data set of `nfa data list`.")],
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Make sure that a data set is on this machine, downloading it into the user cache if need be."""
    from nfa import data

    place = data.fetch(name, data_dir)
    if json:
        print_json({"name": name, "path": place})
    else:
        print(f"{name} is in {place}")


@data_app.command("path", short_help="Print where data sets lie.", epilog=example("nfa data path fashion-mnist-small"))
def data_path(
    name: Annotated[str | None, typer.Argument(metavar="NAME", show_default=False, help="A data set.")] = None,
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Print where a data set lies; without a name, where each of those that are on this machine lies."""
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
