"""A small cassette of both halves, written out, for tests that answer in their own process."""

from pathlib import Path

CHAT_URL = "https://api.openai.com/v1/chat/completions"
TRACKER_URL = "https://tracker.example/mcp"
HI: dict[str, object] = {"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}
STREAMED = HI | {"stream": True}

_HEADER = (
    '{"mcprec":1,"servers":{"tracker":{"transport":"http","url":"https://tracker.example/mcp",'
    '"era":"stateless","name":"acme-tracker","version":"1"},'
    '"files":{"transport":"stdio","command":"files-server","era":"classic","name":"f","version":"1"}}}'
)
_SEARCH = (
    '{"seq":1,"server":"tracker","method":"tools/call","name":"search","args":{"q":"bug"},'
    '"result":{"resultType":"complete","content":[{"type":"text","text":"three bugs"}]},"ms":3}'
)
_FILE = (
    '{"seq":2,"server":"files","method":"tools/call","name":"read","args":{"path":"a.txt"},'
    '"result":{"content":[{"type":"text","text":"text of a"}]},"ms":3}'
)
_TOOL = '{"name":"%s","inputSchema":{"type":"object"}}'
_TOOLS = (
    '{"seq":5,"server":"tracker","method":"tools/list","result":{"resultType":"complete",'
    '"ttlMs":0,"cacheScope":"public","tools":[' + _TOOL % "search" + "]}}"
)
_FILES = (
    '{"seq":6,"server":"files","method":"tools/list","result":{"tools":[' + _TOOL % "read" + "]}}"
)
_SECTION = '{"kind":"section","section":"model","via":"base-url"}'
_CHAT = (
    '{"kind":"model","seq":3,"provider":"openai","path":"/v1/chat/completions",'
    '"request":{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]},"status":200,'
    '"headers":{"content-type":"application/json","x-request-id":"req_1"},'
    '"body":{"id":"c1","object":"chat.completion","created":1,"model":"gpt-5","choices":[{"index":0,'
    '"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}]},"ms":5}'
)
_STREAM = (
    '{"kind":"model","seq":4,"provider":"openai","path":"/v1/chat/completions",'
    '"request":{"model":"gpt-5","stream":true,"messages":[{"role":"user","content":"hi"}]},'
    '"status":200,"headers":{"content-type":"text/event-stream"},"events":['
    '{"at":1,"json":{"id":"c2","object":"chat.completion.chunk","created":1,"model":"gpt-5",'
    '"choices":[{"index":0,"delta":{"content":"Three"}}]}},'
    '{"at":2,"json":{"id":"c2","object":"chat.completion.chunk","created":1,"model":"gpt-5",'
    '"choices":[{"index":0,"delta":{"content":" bugs"}}]}},'
    '{"at":3,"text":"[DONE]"}],"ms":5}'
)


def write_cassette(folder: Path, *, end: str | None = None, name: str = "triage.mcp") -> Path:
    """Write it, its stream ended as told: ``cut``, ``reset`` or whole."""
    stream = _STREAM
    if end is not None:
        stream = stream.replace(',{"at":3,"text":"[DONE]"}]', f'],"end":"{end}"')
    path = folder / name
    lines = [_HEADER, _SEARCH, _FILE, _TOOLS, _FILES, _SECTION, _CHAT, stream, ""]
    path.write_text("\n".join(lines))
    return path
