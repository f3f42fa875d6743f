"""Messages: the plain values."""

from __future__ import annotations

from nbagent.messages import Message, Observation, Prompt, Segment, Source


def test_a_prompt_is_joined_from_its_kept_segments():
    template = Source("template", "task")
    prompt = Prompt(
        (
            Segment("user", "task", "How is ", template),
            Segment("user", "task", "Oslo", Source("variable", "city: str")),
            Segment("user", "task", "!", template, kept=False, reason="limit"),
        ),
        history=(Message("user", "before"),),
    )
    assert prompt.messages == (Message("user", "before"), Message("user", "How is Oslo"))


def test_the_model_reads_what_a_tool_printed():
    assert Observation("1", "done").content == "done"
    assert Observation("1", "done", printed="50 %\n").content == "done\n\nprinted:\n50 %\n"
