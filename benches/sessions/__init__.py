"""The processes and the MCP client of benches/serve.py, which compares a server with sessions."""
