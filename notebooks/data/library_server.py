"""A small MCP server: the books of a bicycle shop's library. Notebook 05 starts it; it talks over stdin and stdout."""

from mcp.server.mcpserver import MCPServer

BOOKS = {
    "Zinn and the Art of Road Bike Maintenance": 2,
    "The Bicycling Big Book of Cycling for Beginners": 0,
    "Norway by Bicycle": 5,
}
server = MCPServer("library")


@server.tool()
def copies(title: str) -> int:
    """How many copies of a book are on the shelf.

    Args:
        title: The title, exactly as the list of books has it.
    """
    if title not in BOOKS:
        raise ValueError(f"no book {title!r}; there are: {', '.join(BOOKS)}")
    return BOOKS[title]


@server.resource("library://books", title="The list of books", mime_type="text/plain")
def books() -> str:
    """All titles."""
    return "\n".join(BOOKS)


@server.prompt()
def recommend(reader: str) -> str:
    """Ask for a recommendation."""
    return f"Recommend one book of the library to {reader}, and say in one sentence why."


if __name__ == "__main__":
    server.run()
