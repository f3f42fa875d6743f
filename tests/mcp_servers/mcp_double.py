"""A small real MCP server, made with the official SDK.

python mcp_double.py             over stdin and stdout
python mcp_double.py http        over HTTP on a free port of 127.0.0.1; its first line is the port
python mcp_double.py crash       says something on stderr and ends
python mcp_double.py hang        never answers
python mcp_double.py noisy       prints to stdout what is no message, then works
python mcp_double.py garbage     prints to stdout what is no message, and never answers
python mcp_double.py old         ends when the first thing that it hears is not `initialize`
"""

import os
import socket
import sys
import time
from pathlib import Path

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


def server():  # noqa: C901 - many small functions
    import anyio
    from mcp.server.mcpserver import Image, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import (
        CallToolResult,
        EmbeddedResource,
        ImageContent,
        ResourceLink,
        TextContent,
        TextResourceContents,
        ToolAnnotations,
    )

    double = MCPServer("double")

    @double.tool(annotations=ToolAnnotations(idempotent_hint=True))
    def add(a: int, b: int = 1) -> int:
        """Adds two numbers."""
        return a + b

    @double.tool()
    def fail(why: str) -> str:
        """Fails."""
        raise ToolError(f"no such thing: {why}")

    @double.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def meet(folder: str, number: int, of: int) -> str:
        """Waits until so many calls are here at the same time."""
        touch(folder, str(number))
        with anyio.fail_after(20):
            while len(os.listdir(folder)) < of:
                await anyio.sleep(0.01)
        return f"met {number}"

    @double.tool()
    async def slow(folder: str) -> str:
        """Says that it has begun, and ends only when it is cancelled; then it says so."""
        touch(folder, "begun")
        try:
            await anyio.sleep(60)
        finally:
            touch(folder, "cancelled")
        return "slept"

    @double.tool()
    def picture():
        """Draws."""
        return [Image(data=PNG, format="png"), "a dot"]

    @double.tool(structured_output=False)
    def page() -> CallToolResult:
        """Calls a page a picture."""
        import base64

        data = base64.b64encode(b"<script>alert(1)</script>").decode()
        return CallToolResult(content=[ImageContent(type="image", data=data, mime_type="text/html")])

    @double.tool()
    def structured(city: str) -> dict[str, int]:
        """Weather as numbers."""
        return {city: 21}

    @double.tool(structured_output=False)
    def only_structured() -> CallToolResult:
        """Numbers and no text."""
        return CallToolResult(content=[], structured_content={"n": 1})

    @double.tool(structured_output=False)
    def links() -> CallToolResult:
        """Points to something."""
        inside = TextResourceContents(uri="note://2", text="Inside.", mime_type="text/plain")
        return CallToolResult(
            content=[
                TextContent(type="text", text="See:"),
                ResourceLink(type="resource_link", name="first", uri="note://1", description="The first."),
                EmbeddedResource(type="resource", resource=inside),
            ]
        )

    @double.tool(name="odd name/with.dots")
    def odd() -> str:
        """Has an odd name."""
        return "odd"

    @double.tool(name="odd name_with.dots")
    def odder() -> str:
        """Has nearly the same."""
        return "odder"

    @double.tool()
    def die() -> str:
        """Ends the server."""
        print("the double dies, with the key", os.environ.get("DOUBLE_KEY"), file=sys.stderr, flush=True)
        os._exit(3)

    @double.tool()
    def pid() -> int:
        """Which process it is."""
        return os.getpid()

    @double.tool()
    def variables(names: list[str]) -> dict[str, str | None]:
        """What is in its environment."""
        return {name: os.environ.get(name) for name in names}

    @double.tool()
    def pay(folder: str, amount: int) -> str:
        """Pays, and writes it down."""
        with Path(folder, "paid").open("a") as file:
            file.write(f"{amount}\n")
        return f"paid {amount}"

    @double.prompt()
    def review(code: str, style: str = "short") -> str:
        """Asks for a review."""
        return f"Review this ({style}): {code}"

    @double.prompt()
    def talk(name: str) -> list:
        """Begins a talk."""
        return [{"role": "user", "content": f"I am {name}."}, {"role": "assistant", "content": "Hello."}]

    @double.prompt()
    def braces(name: str) -> str:
        """Has braces."""
        return f'Answer like {{"a": {{b}}}} or {{name}} or {{}} to {name}!'

    @double.prompt()
    def loud(name: str) -> str:
        """Says it loudly."""
        return f"HELLO {name.upper()}"

    @double.resource("note://zebra", name="zebra", mime_type="text/plain")
    def zebra() -> str:
        return "Zebras have stripes."

    @double.resource("note://apple", name="apple", title="The apple", mime_type="text/markdown")
    def apple() -> str:
        return "Apples are *red*."

    @double.resource("note://dot", name="dot", mime_type="image/png")
    def dot() -> bytes:
        return PNG

    @double.resource("note://bytes", name="bytes")
    def raw() -> bytes:
        return b"\x00\x01"

    @double.resource("search://{query}", name="search")
    def search(query: str) -> str:
        if query == "nothing":
            raise ValueError("nothing found")
        return f"Found for {query}."

    @double.resource("user://{id}", name="user")
    def user(id: str) -> str:
        return f"User {id}."

    return double


def touch(folder, name):
    Path(folder, name).touch()


def over_http():
    import uvicorn

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()  # a client may come before uvicorn has begun
    print(listener.getsockname()[1], flush=True)
    app = server().streamable_http_app(host="127.0.0.1")
    uvicorn.Server(uvicorn.Config(guarded(app), log_level="error")).run(sockets=[listener])


def guarded(app):
    """Lets only those in who know the word, where there is one."""

    async def guard(scope, receive, send):
        word = os.environ.get("DOUBLE_WORD", "").encode()
        if scope["type"] == "http" and word and (b"authorization", b"Bearer " + word) not in scope["headers"]:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})
            return
        await app(scope, receive, send)

    return guard


def main(mode="stdio", *more):
    if counted := os.environ.get("DOUBLE_STARTS"):
        with Path(counted).open("a") as file:
            file.write(f"{os.getpid()}\n")
    match mode:
        case "http":
            over_http()
        case "crash":
            print("the double cannot find its key", os.environ.get("DOUBLE_KEY"), file=sys.stderr, flush=True)
            sys.exit(3)
        case "hang":
            print("the double thinks", file=sys.stderr, flush=True)
            time.sleep(60)
        case "garbage":
            print("Welcome to the double!", flush=True)
            time.sleep(60)
        case "old":
            old()
        case _:
            if mode == "noisy":
                print("Welcome to the double!", flush=True)
            server().run("stdio")


def old():
    """Reads the first line itself, and hands it on where it is what servers of old expect."""
    first = sys.stdin.buffer.raw.read(65536)
    if b'"initialize"' not in first:
        sys.exit("expected initialize")
    reading, writing = os.pipe()
    os.write(writing, first)
    before = os.dup(0)

    def pump():
        while data := os.read(before, 65536):
            os.write(writing, data)
        os.close(writing)

    import threading

    threading.Thread(target=pump, daemon=True).start()
    os.dup2(reading, 0)
    server().run("stdio")


if __name__ == "__main__":
    main(*sys.argv[1:])
