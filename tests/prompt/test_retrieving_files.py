"""Retrieving from a folder: which files are read, when they are read again, and what is said of the others."""

from __future__ import annotations

import os

import pytest

from nbagent import Agent
from nbagent.errors import ConfigError
from nbagent.prompt.context.answer import ask
from nbagent.prompt.context.block import ContextQuery
from nbagent.prompt.context.files import FileRetriever, title

TEA = ContextQuery("tea")


class CountingEmbedder:
    """Each text is like any other."""

    def __init__(self):
        self.texts = []

    def embed(self, texts):
        self.texts.append(list(texts))
        return [[1.0, 0.0] for _ in texts]


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def uris(retriever, query=TEA):
    return sorted(block.uri for block in retriever.get_blocks(query))


def test_markdown_and_text_files_below_the_folder_are_found_by_their_path(tmp_path):
    write(tmp_path, a_md="# Green tea\n\nIt is tea.", sub__deep__b_txt="black tea", c_py="tea", d_rst="tea")
    blocks = FileRetriever(tmp_path).get_blocks(TEA)
    assert {(b.uri, b.title, b.chunk_id, b.text) for b in blocks} == {
        ("a.md", "Green tea", "1", "# Green tea\n\nIt is tea."),
        ("sub/deep/b.txt", "b.txt", "1", "black tea"),
    }
    assert str(tmp_path) not in repr(blocks)


def test_the_pattern_says_which_files(tmp_path):
    write(tmp_path, a_md="tea", b_txt="tea", c_py="tea", sub__d_md="tea")
    assert uris(FileRetriever(str(tmp_path), "*.md")) == ["a.md"]
    assert uris(FileRetriever(tmp_path, ["**/*.md", "**/*.py", "*.md"])) == ["a.md", "c.py", "sub/d.md"]


def test_long_files_come_in_passages(tmp_path):
    write(tmp_path, a_md="tea\n\nwater\n\ntea")
    blocks = FileRetriever(tmp_path, chunk_size=5).get_blocks(TEA)
    assert [(b.chunk_id, b.text) for b in blocks] == [("1", "tea"), ("3", "tea")]
    [whole] = FileRetriever(tmp_path, chunk_size=None).get_blocks(TEA)
    assert (whole.chunk_id, whole.text) == (None, "tea\n\nwater\n\ntea")


def test_line_ends_and_the_mark_of_the_encoding_are_no_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfgreen\r\ntea\x0c\n")
    assert [b.text for b in FileRetriever(tmp_path).get_blocks(TEA)] == ["green\ntea"]


def test_a_file_that_changes_is_read_again_and_one_that_is_deleted_is_gone(tmp_path):
    write(tmp_path, a_md="tea", b_md="water")
    retriever = FileRetriever(tmp_path)
    assert uris(retriever) == ["a.md"]
    write(tmp_path, b_md="tea now", c_md="tea, too")
    assert uris(retriever) == ["a.md", "b.md", "c.md"]
    (tmp_path / "a.md").unlink()
    assert uris(retriever) == ["b.md", "c.md"]


def test_a_change_is_seen_also_where_a_copy_kept_the_time_and_the_size(tmp_path):
    write(tmp_path, a_md="tea")
    os.utime(tmp_path / "a.md", ns=(5, 5))
    retriever = FileRetriever(tmp_path)
    assert uris(retriever) == ["a.md"]
    write(tmp_path, a_md="ale")
    os.utime(tmp_path / "a.md", ns=(5, 5))
    assert uris(retriever) == []


def test_a_file_that_has_not_changed_is_not_read_again(tmp_path, monkeypatch):
    write(tmp_path, a_md="tea")
    retriever = FileRetriever(tmp_path)
    assert uris(retriever) == ["a.md"]
    monkeypatch.setattr("nbagent.prompt.context.folder._read", None)
    assert uris(retriever) == ["a.md"]


def test_utf_16_is_read_and_what_is_skipped_is_in_the_record_of_the_prompt(tmp_path):
    (tmp_path / "notepad.txt").write_bytes("tea from Notepad".encode("utf-16"))
    (tmp_path / "latin.txt").write_bytes("th\u00e9 tea".encode("latin-1"))
    prompt = Agent("a", object(), retrievers=[FileRetriever(tmp_path)]).observe("tea")
    assert "(FILES) tea from Notepad" in prompt.user
    [left] = [segment for segment in prompt.segments if not segment.kept]
    assert (str(left.source), left.reason) == ("context FILES (latin.txt)", "no text in UTF-8")


def test_only_a_changed_text_makes_it_rank_anew(tmp_path):
    write(tmp_path, a_md="tea", b_md="ale")
    embedder = CountingEmbedder()
    retriever = FileRetriever(tmp_path, ranking=embedder)
    assert embedder.texts == []
    assert uris(retriever) == ["a.md", "b.md"]
    os.utime(tmp_path / "a.md", ns=(5, 5))
    uris(retriever)
    assert embedder.texts == [["tea", "ale"], ["tea"], ["tea"]]
    write(tmp_path, a_md="cup")
    uris(retriever)
    assert embedder.texts[3:] == [["cup", "ale"], ["tea"]]
    (tmp_path / "b.md").rename(tmp_path / "c.md")
    assert uris(retriever) == ["a.md", "c.md"]


def test_what_cannot_be_read_is_left_out_and_can_be_seen(tmp_path, monkeypatch):
    monkeypatch.setattr("nbagent.prompt.context.folder.LARGEST", 20)
    write(tmp_path, a_md="tea", long_md="tea " * 6)
    (tmp_path / "latin.txt").write_bytes("thé tea".encode("latin-1"))
    (tmp_path / "zeros.md").write_bytes(b"tea\0tea")
    (tmp_path / "folder.md").mkdir()
    retriever = FileRetriever(tmp_path)
    assert retriever.skipped == {
        "latin.txt": "no text in UTF-8",
        "long.md": "larger than 20 bytes",
        "zeros.md": "binary",
    }
    assert uris(retriever) == ["a.md"]
    write(tmp_path, zeros_md="tea", long_md="tea")
    assert list(retriever.skipped) == ["latin.txt"]
    assert uris(retriever) == ["a.md", "long.md", "zeros.md"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_says_so_without_its_whole_path(tmp_path):
    write(tmp_path, a_md="tea", b_md="tea")
    (tmp_path / "a.md").chmod(0)
    retriever = FileRetriever(tmp_path)
    assert retriever.skipped == {"a.md": "cannot be read: Permission denied"}
    assert uris(retriever) == ["b.md"]


def test_hidden_files_and_links_out_of_the_folder_are_not_read(tmp_path):
    inside = tmp_path / "inside"
    write(tmp_path, secret_md="tea", other__x_md="tea")
    write(inside, a_md="tea", _hidden_md="tea", sub___hidden__b_md="tea", _git__c_md="tea")
    (inside / "out.md").symlink_to(tmp_path / "secret.md")
    (inside / "folder").symlink_to(tmp_path / "other", target_is_directory=True)
    (inside / "in.md").symlink_to(inside / "a.md")
    (inside / "to_hidden.md").symlink_to(inside / ".hidden.md")
    (inside / "dangling.md").symlink_to(inside / "nowhere.md")
    (inside / "round.md").symlink_to(inside / "round.md")
    retriever = FileRetriever(inside, ["**/*.md", "*/*.md", ".git/*.md"])
    assert uris(retriever) == ["a.md", "in.md"]
    assert retriever.skipped == {
        "folder/x.md": "a link that leads out of the folder",
        "out.md": "a link that leads out of the folder",
        "to_hidden.md": "a link to a hidden file",
    }


def test_the_folder_stays_the_same_when_the_process_goes_elsewhere(tmp_path, monkeypatch):
    write(tmp_path, docs__a_md="tea")
    monkeypatch.chdir(tmp_path)
    retriever = FileRetriever("docs")
    monkeypatch.chdir(tmp_path / "docs")
    assert uris(retriever) == ["a.md"]


def test_a_folder_that_is_not_there_is_an_error_and_one_that_goes_a_failure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="FileRetriever: folder: expected a folder that is there, got str: 'docs'"):
        FileRetriever("docs")
    write(tmp_path, docs__a_md="tea")
    with pytest.raises(ConfigError, match="expected a folder that is there"):
        FileRetriever("docs/a.md")
    retriever = FileRetriever("docs")
    (tmp_path / "docs").rename(tmp_path / "elsewhere")
    assert ask(retriever, TEA).failure == "failed: ConfigError: the folder docs is gone"


@pytest.mark.parametrize(
    "pattern", ["../*.md", "a/../../*.md", "/etc/*", "", " ", ".", "a**b/*.md", 3, [], ["*.md", 3]]
)
def test_a_pattern_that_leads_out_or_is_none_is_refused(tmp_path, pattern):
    with pytest.raises(ConfigError, match="FileRetriever: pattern: expected"):
        FileRetriever(tmp_path, pattern)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ranking": "vector"}, r'FileRetriever: ranking \(other than "keyword"\): expected .*, got str: \'vector\''),
        ({"ranking": CountingEmbedder(), "similarity_threshold": 2}, "FileRetriever: similarity_threshold: expected"),
        ({"language": "klingon"}, "language: expected None or one of"),
        ({"chunk_size": -1}, "FileRetriever: chunk_size: expected a whole number"),
        ({"context_label": ""}, "FileRetriever: context_label: expected"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(tmp_path, options, said):
    with pytest.raises(ConfigError, match=said):
        FileRetriever(tmp_path, **options)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a/b.md", "Intro\n\n## The guide ##\n# Later", "The guide"),
        ("b.md", "```python\n# no heading\n```\n# Heading", "Heading"),
        ("b.md", "~~~\n```\n# no heading\n~~~\n# Heading", "Heading"),
        ("b.MD", "#hashtag\n#   \n# C#", "C#"),
        ("b.md", "no heading", "b.md"),
        ("a/b.txt", "# a comment", "b.txt"),
    ],
)
def test_the_title_is_the_first_heading_or_the_name(name, text, expected):
    assert title(name, text) == expected
