/** The connection against the real daemon: what people do, restarts, absence, garbage. */
import assert from "node:assert/strict";
import { chmodSync, readFileSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { after, before, test } from "node:test";
import { Daemon } from "../src/daemon";
import { Failure } from "../src/failures";
import { clientOf, hears, Home, isThere, reaches, within } from "./support";

const THURSDAYS = {
  name: "Deploys go out on Thursdays",
  description: "We deploy on Thursdays, never on Fridays",
  type: "project",
  body: "We deploy on Thursdays, never on Fridays.",
  scope: "project",
} as const;

let home: Home;
let client: Daemon;
let cwd: string;

before(async () => {
  home = new Home();
  cwd = home.project;
  home.serve();
  client = clientOf(home);
  client.start();
  await reaches(client, "connected");
});

after(async () => {
  client.dispose();
  await home.remove();
});

test("what is remembered is listed, recalled and told as an event, and is a Markdown file", async () => {
  const event = hears(client, "memory/saved");
  const saved = await client.request("memory/save", { cwd, ...THURSDAYS });
  assert.equal((await event)["path"], saved.path);
  const { memories } = await client.request("memory/list", { cwd });
  assert.deepEqual(memories.map((one) => [one.name, one.scope, one.type, one.path]), [
    [THURSDAYS.name, "project", "project", saved.path],
  ]);
  const found = await client.request("recall", { cwd, query: "when do we deploy?", limit: 3 });
  assert.equal(found.memories[0]?.path, saved.path);
  assert.match(readFileSync(saved.path, "utf8"), /never on Fridays/);
});

test("what is forgotten is gone, and comes back with its history", async () => {
  const [memory] = (await client.request("memory/list", { cwd })).memories;
  assert.ok(memory);
  const { path } = memory;
  const event = hears(client, "memory/forgotten");
  const { version } = await client.request("memory/forget", { cwd, path });
  assert.equal((await event)["path"], path);
  assert.equal(isThere(path), false);
  assert.deepEqual((await client.request("memory/list", { cwd })).memories, []);
  const forgotten = await client.request("memory/list", { cwd, forgotten: true });
  assert.deepEqual(forgotten.memories.map((one) => one.path), [path]);
  await client.request("memory/restore", { cwd, path, version });
  assert.ok(isThere(path));
  const { versions } = await client.request("memory/history", { cwd, path });
  assert.deepEqual(versions.map((one) => one.version), [3, 2, 1]);
  const first = await client.request("memory/history", { cwd, path, version: 1 });
  assert.match(first.content ?? "", /never on Fridays/);
});

test("what waits in the inbox is accepted, edited or rejected", async () => {
  for (const text of [
    "Fix the login test. We use pnpm for everything in the web client.",
    "The release notes live in the team drive.",
    "We use Postgres for everything in the reporting service.",
  ]) {
    const event = hears(client, "extraction/finished");
    home.say(text);
    await event;
  }
  const { items } = await client.request("inbox/list", { cwd });
  assert.equal(items.length, 3, JSON.stringify(items));
  const [first, second, third] = items.map((one) => one.id);
  assert.ok(first && second && third);
  const { kept, refused } = await client.request("inbox/accept", { ids: [first] });
  assert.deepEqual(refused, []);
  assert.match(readFileSync(kept[0]?.path ?? "", "utf8"), /pnpm/);
  const edited = await client.request("inbox/edit", { ids: [second], text: "The release notes are in the wiki." });
  assert.match(readFileSync(edited.kept[0]?.path ?? "", "utf8"), /are in the wiki/);
  assert.equal((await client.request("inbox/reject", { ids: [third] })).rejected, 1);
  assert.deepEqual((await client.request("inbox/list", { cwd })).items, []);
});

test("a dream tells how far it is and how it ended", async () => {
  const phase = hears(client, "dream/phase");
  const end = hears(client, "dream/finished");
  const { dream } = await client.request("dream/start", { cwd, force: true });
  assert.equal((await phase)["dream"], dream);
  assert.equal((await end)["state"], "done");
});

test("an error of the daemon has its kind, its words and the next step", async () => {
  const error = await failureOf(client.request("memory/forget", { cwd, path: "no_such.md" }));
  assert.equal(error.kind, "not-found");
  assert.match(error.line, /no_such/);
  assert.notEqual(error.hint, "");
  const refusal = await failureOf(client.request("memory/save", { cwd, ...THURSDAYS, body: " " }));
  assert.notEqual(refusal.kind, "broken");
});

test("after a restart of the daemon, events arrive and requests are answered again", async () => {
  const absent = reaches(client, "absent");
  await home.stop();
  await absent;
  const error = await failureOf(client.request("memory/list", { cwd }));
  assert.equal(error.line, "memoryd is not running – to start it, type: memoryd serve");
  home.serve();
  await reaches(client, "connected");
  const event = hears(client, "memory/saved");
  await client.request("memory/save", { cwd, ...THURSDAYS, name: "Said after the restart" });
  await event;
});

test("a daemon that is killed leaves no request without an end", async () => {
  const ends = Promise.allSettled(Array.from({ length: 20 }, () => client.request("memory/list", { cwd })));
  await home.stop("SIGKILL");
  home.serve();
  for (const end of await within(ends, "every answer")) {
    if (end.status === "rejected") {
      assert.ok(["not-running", "broken"].includes((end.reason as Failure).kind), String(end.reason));
    }
  }
  await reaches(client, "connected");
  assert.ok((await client.request("memory/list", { cwd })).memories.length > 0);
});

test("a request that reads is sent again on a new connection, one that writes is not", async () => {
  const place = new Home();
  const cuts = { left: 1 };
  const relay = createServer((near) => {
    const far = connect(home.socket);
    near.on("data", (data) => (data.includes("memory/") && cuts.left-- > 0 ? near.destroy() : far.write(data)));
    far.pipe(near);
    near.on("error", () => far.destroy()).on("close", () => far.destroy());
    far.on("error", () => near.destroy());
  });
  await new Promise<void>((resolve) => relay.listen(place.socket, resolve));
  const cutOff = clientOf(place);
  try {
    assert.ok((await cutOff.request("memory/list", { cwd })).memories.length > 0);
    cuts.left = 1;
    const lost = cutOff.request("memory/save", { cwd, ...THURSDAYS, name: "Said into a broken line" });
    assert.equal((await failureOf(lost)).kind, "broken");
    const { memories } = await cutOff.request("memory/list", { cwd });
    assert.equal(memories.some((one) => one.name === "Said into a broken line"), false);
  } finally {
    cutOff.dispose();
    relay.close();
    await place.remove();
  }
});

test("without a daemon, it says so in one line and stays quiet", async () => {
  const empty = new Home();
  const alone = clientOf(empty);
  try {
    alone.start();
    await reaches(alone, "absent");
    assert.equal(alone.lastFailure?.line, "memoryd is not running – to start it, type: memoryd serve");
    assert.equal((await failureOf(alone.request("ping", {}))).kind, "not-running");
  } finally {
    alone.dispose();
    await empty.remove();
  }
});

test("a path that cannot be a socket's is said, and is tried again", async () => {
  const wrong = new Daemon({
    socketPath: () => {
      throw new RangeError("the socket must be a full path of at most 107 bytes");
    },
  });
  const error = await failureOf(wrong.request("ping", {}));
  assert.equal(wrong.state, "unusable");
  assert.match(error.line, /full path.*memoryd\.socket/);
  wrong.dispose();
});

const NOT_A_DAEMON: readonly [string, string][] = [
  ["is silent", ""],
  ["speaks HTTP", "HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nno\n"],
  ["sends no length", "Hello: there\r\n\r\n{}"],
  ["sends broken JSON", "Content-Length: 5\r\n\r\n{{{{{"],
  ["sends a list", "Content-Length: 2\r\n\r\n[]"],
  ["sends events that are not", framed('{"jsonrpc":"2.0","method":"event","params":[null,1,{}]}')],
  ["answers what nobody asked", framed('{"jsonrpc":"2.0","id":77,"result":{}}')],
];

for (const [what, bytes] of NOT_A_DAEMON) {
  test(`a program at the socket that ${what} is not taken for the daemon`, async () => {
    const place = new Home();
    const server = await listening(place.socket, bytes);
    const misled = clientOf(place, { deadlineMs: 300 });
    try {
      const error = await failureOf(misled.request("ping", {}));
      assert.ok(["timed-out", "broken"].includes(error.kind), error.line);
      assert.notEqual(misled.state, "connected");
    } finally {
      misled.dispose();
      await new Promise((resolve) => server.close(resolve));
      await place.remove();
    }
  });
}

test("a socket that this user may not open is not taken for a missing daemon", async (context) => {
  if (process.getuid?.() === 0) {
    context.skip("root may open everything");
    return;
  }
  const place = new Home();
  const server = await listening(place.socket, "");
  chmodSync(place.socket, 0);
  const refused = clientOf(place);
  assert.equal((await failureOf(refused.request("ping", {}))).kind, "denied");
  refused.dispose();
  await new Promise((resolve) => server.close(resolve));
  await place.remove();
});

test("after dispose, nothing is asked and nothing is told", async () => {
  const last = clientOf(home);
  last.start();
  await reaches(last, "connected");
  last.onEvent(() => assert.fail("an event after the end"));
  last.dispose();
  assert.equal((await failureOf(last.request("ping", {}))).kind, "local");
  const event = hears(client, "memory/saved");
  await client.request("memory/save", { cwd, ...THURSDAYS, name: "Said after the end" });
  await event;
});

function framed(text: string): string {
  return `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

async function failureOf(request: Promise<unknown>): Promise<Failure> {
  try {
    await within(request, "an answer");
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return error;
  }
  assert.fail("it was answered");
}

async function listening(path: string, bytes: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.resume();
    socket.write(bytes);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return server;
}
