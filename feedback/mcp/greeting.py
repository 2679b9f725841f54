"""What the server says of itself, as `greeting.json` has it; `make docs` renews that."""

import json
from typing import Any

import anyio
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from feedback.mcp import tools


def greeting() -> dict[str, Any]:
    server = tools.server()
    listed = anyio.run(server.list_tools)
    named = {"name": server.name, "title": server.title, "version": "1"}
    about = {
        # Without prompts and resources, of which there are none: nobody waits for their lists.
        "capabilities": {"tools": {"listChanged": False}},
        "instructions": tools.INSTRUCTIONS,
    }
    return {
        "versions": list(HANDSHAKE_PROTOCOL_VERSIONS),
        "initialize": {**about, "serverInfo": named},
        "discover": {**about, "supportedVersions": list(MODERN_PROTOCOL_VERSIONS)},
        "around": {  # every result in the protocol without a handshake
            "resultType": "complete",
            "cacheScope": "private",
            "ttlMs": 0,
            "_meta": {SERVER_INFO_META_KEY: named},
        },
        "tools": [
            # What comes back describes itself; its schema would only fill the agent's memory.
            tool.model_dump(
                mode="json", by_alias=True, exclude_none=True, exclude={"output_schema"}
            )
            for tool in listed
        ],
    }


def text() -> str:
    return json.dumps(greeting(), ensure_ascii=False, indent=1)
