"""The MCP server: search, timeline, details and notes as tools for agents. Needs the extra `gieok[mcp]`."""
