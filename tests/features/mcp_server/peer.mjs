// A client of the TypeScript SDK: lists the tools, calls some, answers a form, hears of changes.
// Arguments: a JSON object with `url` and `token`, or with `command`, `args` and `env`.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { writeFileSync } from "node:fs";

const server = JSON.parse(process.argv[2]);
const transport = server.url
  ? new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { Authorization: `Bearer ${server.token}` } },
    })
  : new StdioClientTransport({ ...server, stderr: "inherit" });
const client = new Client(
  { name: "peer", version: "1" },
  { capabilities: { elicitation: {} } },
);
const said = { forms: [], progress: [] };
client.setRequestHandler(ElicitRequestSchema, (request) => {
  said.forms.push(request.params.message);
  return { action: "accept", content: { decision: "allow once" } };
});
const changed = new Promise((resolve) =>
  client.setNotificationHandler(ToolListChangedNotificationSchema, resolve),
);

await client.connect(transport);
said.tools = (await client.listTools()).tools.map((tool) => tool.name);
const call = (name, args, options) =>
  client.callTool({ name, arguments: args }, undefined, options);
said.media = (await call("Media", {})).content.map((block) => block.type);
said.bash = await call("Bash", { command: "echo from node" });
await call("Steps", {}, { onprogress: (progress) => said.progress.push(progress.progress) });

const giveUp = new AbortController();
const slow = call("Slow", { log: "slow.log" }, { signal: giveUp.signal });
setTimeout(() => giveUp.abort(), 300);
await slow.catch((error) => (said.givenUp = String(error)));

writeFileSync(server.config, '[tools]\ndisabled = ["Steps"]\n');
await changed;
said.toolsAfter = (await client.listTools()).tools.map((tool) => tool.name);
await client.close();
console.log(JSON.stringify(said));
