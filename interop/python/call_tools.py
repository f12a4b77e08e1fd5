# A client of the Python SDK, which does what the lines of stdin say, one after the other, and prints a line of JSON for each.
#
# {"connect": {"command", "args", "env"} | {"url", "token"}, "revision"?}  ->  {"server", "revision", "tools"}
# {"call": {"name", "arguments", "timeoutMs"?}}                            ->  {"result", "progress"} | {"error", "progress"}
import asyncio
import json
import sys
from contextlib import AsyncExitStack

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


async def main():
    client = None
    async with AsyncExitStack() as stack:
        reader = asyncio.StreamReader(limit=2**20)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            step = json.loads(line)
            try:
                if "connect" in step:
                    await stack.aclose()
                    client = await stack.enter_async_context(await to_client(step, stack))
                    tools = await client.list_tools()
                    seen = {
                        "server": client.server_info.model_dump(exclude_none=True),
                        "revision": client.protocol_version,
                        "tools": [tool.name for tool in tools.tools],
                    }
                else:
                    seen = await call(client, **step["call"])
            except MCPError as error:
                seen = {"error": to_error(error)}
            print(json.dumps(seen), flush=True)


async def to_client(step, stack):
    """Returns a client, not yet connected. Without a revision it asks whether the server knows the newest one, and else initializes."""
    address = step["connect"]
    if "url" in address:
        headers = {"Authorization": f"Bearer {address['token']}"}
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
        server = streamable_http_client(address["url"], http_client=http)
    else:
        server = StdioServerParameters(**address)
    return Client(server, mode=step.get("revision", "auto"))


async def call(client, name, arguments, timeoutMs=None):
    progress = []

    async def on_progress(value, total, message):
        progress.append({"progress": value, "message": message})

    limit = None if timeoutMs is None else timeoutMs / 1000
    try:
        result = await client.call_tool(name, arguments, read_timeout_seconds=limit, progress_callback=on_progress)
        return {"result": result.model_dump(by_alias=True, mode="json", exclude_none=True), "progress": progress}
    except MCPError as error:
        return {"error": to_error(error), "progress": progress}


def to_error(error):
    return {"code": error.code, "message": error.message, "data": error.error.data}


asyncio.run(main())
