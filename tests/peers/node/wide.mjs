// Takes a client of a TypeScript MCP SDK through all that tests/peers/wide_server.py offers, and
// prints one line: the steps it saw, as JSON.
//
// wide.mjs KIND (URL | config:FILE)

import { readFileSync } from "node:fs";

const ME = { name: "wide-client", version: "1.0.0" };
const LIMIT = { timeout: 5_000 };
const NOTE = "note://today";
const STATELESS = "2026-07-28";

async function sdk1() {
  const at = "@modelcontextprotocol/sdk";
  const { Client } = await import(`${at}/client/index.js`);
  const { StdioClientTransport } = await import(`${at}/client/stdio.js`);
  const { StreamableHTTPClientTransport } = await import(`${at}/client/streamableHttp.js`);
  const types = await import(`${at}/types.js`);
  return {
    Client,
    StdioClientTransport,
    StreamableHTTPClientTransport,
    elicitation: types.ElicitRequestSchema,
    sampling: types.CreateMessageRequestSchema,
    roots: types.ListRootsRequestSchema,
    updated: types.ResourceUpdatedNotificationSchema,
    changed: types.ToolListChangedNotificationSchema,
    log: types.LoggingMessageNotificationSchema,
    callTool: (client, asked, options) => client.callTool(asked, undefined, options),
    send: (client, request) => client.request(request, types.ResultSchema, LIMIT),
  };
}

async function sdk2() {
  const any = { "~standard": { version: 1, vendor: "peer", validate: (value) => ({ value }) } };
  return {
    ...(await import("@modelcontextprotocol/client")),
    ...(await import("@modelcontextprotocol/client/stdio")),
    elicitation: "elicitation/create",
    sampling: "sampling/createMessage",
    roots: "roots/list",
    updated: "notifications/resources/updated",
    changed: "notifications/tools/list_changed",
    log: "notifications/message",
    callTool: (client, asked, options) => client.callTool(asked, options),
    send: (client, request) => client.request(request, any, LIMIT),
  };
}

const KINDS = {
  ts1: [sdk1, undefined],
  "ts2-auto": [sdk2, "auto"],
  "ts2-stateless": [sdk2, { pin: STATELESS }],
  "ts2-classic": [sdk2, "legacy"],
};

/** What the server tells on its own, to be waited for one by one. */
class Told {
  heard = [];
  waiting = [];

  hear(event) {
    const waiting = this.waiting.shift();
    if (waiting === undefined) this.heard.push(event);
    else waiting(event);
  }

  next() {
    if (this.heard.length) return Promise.resolve(this.heard.shift());
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error("nothing was told")), LIMIT.timeout);
      this.waiting.push((event) => {
        clearTimeout(late);
        resolve(event);
      });
    });
  }
}

const steps = [];
const logs = [];

/** Add what `work` gives or throws. */
async function step(name, work) {
  try {
    steps.push({ do: name, got: (await work()) ?? null });
  } catch (error) {
    steps.push({ do: name, raised: error.name, code: error.code, message: error.message });
  }
}

/** Return a client that answers what it is asked, and hears what it is told. */
function answering(sdk, mode, told) {
  const capabilities = { elicitation: {}, sampling: {}, roots: {} };
  const client = new sdk.Client(ME, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler(sdk.elicitation, () => ({
    action: "accept",
    content: { name: "Robin" },
  }));
  client.setRequestHandler(sdk.sampling, () => ({
    role: "assistant",
    content: { type: "text", text: "Good day!" },
    model: "none",
  }));
  client.setRequestHandler(sdk.roots, () => ({ roots: [{ uri: "file:///tmp/a" }] }));
  client.setNotificationHandler(sdk.updated, () => told.hear("updated"));
  client.setNotificationHandler(sdk.changed, () => told.hear("changed"));
  client.setNotificationHandler(sdk.log, ({ params }) => logs.push([params.level, params.data]));
  return client;
}

async function lists(client) {
  await step("tools", () => pages(client));
  await step("resources", () => client.listResources({}, LIMIT));
  await step("templates", () => client.listResourceTemplates({}, LIMIT));
  await step("prompts", () => client.listPrompts({}, LIMIT));
  for (const uri of [NOTE, "note://mine", "note://nowhere"]) {
    await step(uri, () => client.readResource({ uri }, LIMIT));
  }
  await step("prompt", () => client.getPrompt({ name: "ask", arguments: { topic: "bugs" } }, LIMIT));
  const asked = {
    ref: { type: "ref/prompt", name: "ask" },
    argument: { name: "topic", value: "b" },
  };
  await step("complete", () => client.complete(asked, LIMIT));
  const context = { arguments: { tone: "calm" } };
  await step("complete in context", () => client.complete({ ...asked, context }, LIMIT));
}

/** Return the names of the tools, page by page; SDK 2 joins the pages by itself. */
async function pages(client) {
  const names = [];
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor }, LIMIT);
    names.push(page.tools.map((tool) => tool.name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return names;
}

async function calls(sdk, client) {
  const call = (name, given, more) =>
    step(name, () => sdk.callTool(client, { name, arguments: given }, { ...LIMIT, ...more }));
  await call("add", { a: 2, b: 0.5 });
  await call("fail", {});
  await call("count", {}, { onprogress: () => {} });
  steps.push({ do: "logs", got: [...logs] });
  await call("interview", {});
  await call("book", { region: "süd" });
  await call("none", {});
  await step("unknown method", () => sdk.send(client, { method: "none/such", params: {} }));
}

async function changes(sdk, client, told, isStateless) {
  const call = (name, given) =>
    step(name, () => sdk.callTool(client, { name, arguments: given }, LIMIT));
  const asked = { toolsListChanged: true, resourceSubscriptions: [NOTE] };
  const listening = isStateless ? await client.listen(asked, LIMIT) : undefined;
  if (!isStateless) await step("subscribe", () => client.subscribeResource({ uri: NOTE }, LIMIT));
  await call("touch", {});
  await step("told", () => told.next());
  await call("grow", { name: "leaf" });
  await step("told", () => told.next());
  await step("grown tools", () => pages(client));
  await call("leaf", {});
  await call("shrink", { name: "leaf" });
  await listening?.close();
  if (!isStateless) await step("unsubscribe", () => client.unsubscribeResource({ uri: NOTE }, LIMIT));
}

/** Give up a call once it has begun. */
async function cancelled(sdk, client) {
  const giveUp = new AbortController();
  const options = { ...LIMIT, signal: giveUp.signal, onprogress: () => giveUp.abort("enough") };
  await step("wait", () => sdk.callTool(client, { name: "wait", arguments: {} }, options));
  const add = { name: "add", arguments: { a: 1, b: 1 } };
  await step("add again", () => sdk.callTool(client, add, LIMIT));
}

const [kind, place] = process.argv.slice(2);
const [load, mode] = KINDS[kind];
const sdk = await load();
const told = new Told();
const client = answering(sdk, mode, told);
let server = { url: place };
if (place.startsWith("config:")) {
  const config = JSON.parse(readFileSync(place.slice("config:".length), "utf8"));
  [server] = Object.values(config.mcpServers);
}
const transport =
  server.command === undefined
    ? new sdk.StreamableHTTPClientTransport(new URL(server.url))
    : new sdk.StdioClientTransport(server);
await client.connect(transport, LIMIT);
const version = client.getNegotiatedProtocolVersion?.() ?? null; // SDK 1 does not tell
steps.push({ do: "connect", got: [version, client.getServerVersion()] });
await lists(client);
await calls(sdk, client);
await changes(sdk, client, told, version === STATELESS);
await cancelled(sdk, client);
await transport.terminateSession?.(); // closing alone leaves the server its session
await client.close();
process.stdout.write(`${JSON.stringify(steps)}\n`);
