"""A picture in HTML: its heading, what it says in words, and the drawing."""


def picture(name: str, line: str, drawn: str) -> str:
    """`line` and `drawn`: HTML already."""
    said = f" <small>{line}</small>" if line else ""
    return f'<div class="nbagent-growth"><p><b>{name}</b>{said}</p>{drawn}</div>'
