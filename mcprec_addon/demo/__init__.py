"""The bundled agent, MCP server and stub model, and the demo that plays them."""
