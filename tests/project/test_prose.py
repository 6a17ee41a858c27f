"""Tests of `tests.project.prose`: which texts are sentences, and which sentences are marked."""

from tests.project import prose


def of(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return prose.sentences(path)


def test_tables_code_and_headings_are_no_sentences(tmp_path):
    text = """# A heading that ends in a full stop.

Here is a first sentence. And `a.b. C` is in the second one.

| a cell that ends in a full stop. | one more cell of this kind. |
```sh
nfa eq lee2020:eq5 is no sentence of ours.
```
- A point of a list has a sentence too.
- No full stop here
"""
    assert of(tmp_path, "page.md", text) == [
        "Here is a first sentence.",
        "And `a.b. C` is in the second one.",
        "- A point of a list has a sentence too.",
    ]


def test_docstrings_cells_and_statements_are_read(tmp_path):
    module = '"""What a module computes."""\n\ndef f():\n    """One two three four."""\n    # Not one of them.\n'
    assert of(tmp_path, "module.py", module) == ["What a module computes.", "One two three four."]
    cells = "# %% [markdown]\n# One two three four.\n# %%\nx = 1  # Five six seven eight.\n"
    assert of(tmp_path, "script.py", cells) == ["One two three four."]
    item = "[[item]]\nid = 'Not a text that is read.'\nclaims = 'One two three four.'\n"
    assert of(tmp_path, "statements.toml", item) == ["One two three four."]


def test_what_is_marked():
    assert prose.faults("word " * 30 + "end.") == ["31 words"]
    assert prose.faults("word " * 29 + "end.") == []
    assert prose.faults("A code `one two: three; four: five` counts as a single word.") == []
    assert prose.faults("First this: then that; then more.") == ["2 colons and semicolons"]
    assert prose.faults("We do so bit for bit.") == ["'bit for bit' is another word in NOTATION"]


def test_each_kind_has_files_and_no_file_is_of_two_kinds():
    found = [path for kind in prose.kinds() for path in prose.files(kind)]
    assert all(prose.files(kind) for kind in prose.kinds())
    assert len(found) == len(set(found))
