// Runs a client of a TypeScript MCP SDK through a small session and prints one line: the steps
// it saw, as JSON.
//
// client.mjs KIND [--calls JSON] [--env NAME=VALUE]... (--url URL | --config FILE | --stdio CMD...)
//
// The calls are [[tool, arguments], ...], in that order; with a config they are an object that
// has such a list for each server. Kinds that end in "-sse" speak HTTP+SSE, "ts1-fallback" tries
// Streamable HTTP first, as the SDK's documentation tells clients to. A config is one of the "mcpServers" dialect, and all its
// servers are asked, one after the other. Without any server, MCP_URL names it.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

const ME = { name: "node-client", version: "1.0.0" };
const TIMEOUT_MS = 20_000; // a slow machine starts a server in a few seconds

async function sdk1() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await import(
    "@modelcontextprotocol/sdk/client/streamableHttp.js"
  );
  const { SSEClientTransport } = await import("@modelcontextprotocol/sdk/client/sse.js");
  const types = await import("@modelcontextprotocol/sdk/types.js");
  return {
    Client,
    SSEClientTransport,
    StdioClientTransport,
    StreamableHTTPClientTransport,
    elicitation: types.ElicitRequestSchema,
    progress: types.ProgressNotificationSchema,
    log: types.LoggingMessageNotificationSchema,
    callTool: (client, asked, options) => client.callTool(asked, undefined, options),
  };
}

async function sdk2() {
  return {
    ...(await import("@modelcontextprotocol/client")),
    ...(await import("@modelcontextprotocol/client/stdio")),
    elicitation: "elicitation/create",
    progress: "notifications/progress",
    log: "notifications/message",
    callTool: (client, asked, options) => client.callTool(asked, options),
  };
}

const KINDS = {
  ts1: [sdk1, undefined],
  "ts1-sse": [sdk1, undefined, "sse"],
  "ts1-fallback": [sdk1, undefined, "fallback"],
  "ts2-sse": [sdk2, "legacy", "sse"],
  "ts2-auto": [sdk2, "auto"],
  "ts2-stateless": [sdk2, { pin: "2026-07-28" }],
  "ts2-classic": [sdk2, "legacy"],
};

/** The steps that a client went through, without anything that a server mints anew. */
class Transcript {
  steps = [];
  progress = [];
  logs = [];

  /** Add what `work` gives or throws, with the notices that came meanwhile. */
  async step(name, work) {
    this.progress = [];
    this.logs = [];
    let seen;
    try {
      seen = { got: (await work()) ?? null };
    } catch (error) {
      seen = { raised: [error.name], code: error.code, message: error.message };
    }
    for (const [notice, all] of Object.entries({ progress: this.progress, logs: this.logs })) {
      if (all.length) seen[notice] = all;
    }
    this.steps.push({ do: name, ...seen });
    return "got" in seen;
  }
}

/** Return a client whose notices go to the transcript and that tells its name when asked. */
function listening(sdk, mode, transcript) {
  const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode } };
  const client = new sdk.Client(ME, options);
  client.setRequestHandler(sdk.elicitation, () => ({
    action: "accept",
    content: { name: "Robin" },
  }));
  // In place of the handler that calls onprogress: it drops a notice that is read in one piece
  // with its answer, and whether it is depends on the pipe.
  client.setNotificationHandler(sdk.progress, ({ params }) => {
    transcript.progress.push([params.progress, params.total ?? null, params.message ?? null]);
  });
  client.setNotificationHandler(sdk.log, ({ params }) => {
    transcript.logs.push([params.level, params.data]);
  });
  return client;
}

function transportTo(sdk, { url, command, args, env, cwd }, way) {
  if (command !== undefined) return new sdk.StdioClientTransport({ command, args, env, cwd });
  if (way === "sse") return new sdk.SSEClientTransport(new URL(url));
  return new sdk.StreamableHTTPClientTransport(new URL(url));
}

/** Return a connected client and its transport; one that may fall back does on any refusal. */
async function connected(sdk, { mode, way, server }, transcript, limit) {
  const client = listening(sdk, mode, transcript);
  const transport = transportTo(sdk, server, way);
  try {
    await client.connect(transport, limit);
  } catch (error) {
    await client.close();
    if (way !== "fallback") throw error;
    return connected(sdk, { mode, way: "sse", server }, transcript, limit);
  }
  return [client, transport];
}

/** Connect, list, call and close; `at` comes before the name of each step. */
async function session([load, mode, way], server, calls, transcript, at) {
  const sdk = await load();
  const limit = { timeout: TIMEOUT_MS };
  const listened = { ...limit, onprogress: () => {} }; // with it, a progress token is sent
  let client, transport;
  const isConnected = await transcript.step(`${at}connect`, async () => {
    [client, transport] = await connected(sdk, { mode, way, server }, transcript, limit);
    const version = client.getNegotiatedProtocolVersion?.() ?? null; // SDK 1 does not tell
    return [version, client.getServerVersion(), client.getInstructions() ?? null];
  });
  if (!isConnected) return;
  const offers = client.getServerCapabilities() ?? {};
  const step = (name, work) => transcript.step(`${at}${name}`, work);
  await step("list tools", () => client.listTools({}, limit));
  for (const [name, given] of calls) {
    await step(name, () => sdk.callTool(client, { name, arguments: given }, listened));
  }
  if (offers.resources) {
    await step("list resources", () => client.listResources({}, limit));
    await step("list templates", () => client.listResourceTemplates({}, limit));
  }
  if (offers.prompts) await step("list prompts", () => client.listPrompts({}, limit));
  await step("close", async () => {
    await transport.terminateSession?.(); // closing alone leaves the server its session
    await client.close();
  });
}

function settings() {
  const at = process.argv.indexOf("--stdio");
  const [command, ...args] = at < 0 ? [] : process.argv.slice(at + 1);
  const { positionals, values } = parseArgs({
    args: process.argv.slice(2, at < 0 ? undefined : at),
    allowPositionals: true,
    options: {
      calls: { type: "string", default: "[]" },
      config: { type: "string" },
      env: { type: "string", multiple: true, default: [] },
      url: { type: "string", default: process.env.MCP_URL },
    },
  });
  const env = Object.fromEntries(values.env.map((pair) => pair.split(/=(.*)/s, 2)));
  const calls = JSON.parse(values.calls);
  const kind = KINDS[positionals[0]];
  if (kind === undefined) throw new Error(`the kinds are ${Object.keys(KINDS).join(", ")}`);
  if (values.config === undefined) {
    return { kind, sessions: [["", { command, args, env, url: values.url }, calls]] };
  }
  const servers = Object.entries(JSON.parse(readFileSync(values.config, "utf8")).mcpServers);
  const sessions = servers.map(([name, server]) => [`${name}: `, server, calls[name] ?? []]);
  return { kind, sessions };
}

const { kind, sessions } = settings();
const transcript = new Transcript();
for (const [at, server, calls] of sessions) await session(kind, server, calls, transcript, at);
process.stdout.write(`${JSON.stringify(transcript.steps)}\n`);
