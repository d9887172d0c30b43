/** The types of the wire are what the real daemon answers. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Daemon } from "../src/daemon";
import { type Method, RESULTS, type Shape } from "../src/wire";
import { clientOf, hears, Home, reaches } from "./support";

let home: Home;
let client: Daemon;

before(async () => {
  home = new Home();
  home.serve();
  client = clientOf(home);
  client.start();
  await reaches(client, "connected");
});

after(async () => {
  client.dispose();
  await home.remove();
});

test("every answer has the fields that are read, in the types that they are read as", async () => {
  const real = await answers(client, home.project);
  const read = (Object.keys(RESULTS) as Method[]).filter((method) => Object.keys(RESULTS[method]).length > 0);
  assert.deepEqual(Object.keys(real).sort(), read.sort());
  const found = read.flatMap((method) => mismatches(RESULTS[method], real[method], method));
  // What is refused beside something that is kept is not among the answers here.
  assert.deepEqual(found, ["inbox/accept.refused: nothing to look at", "inbox/edit.refused: nothing to look at"]);
});

test("a wrong answer is noticed", () => {
  const shape = { a: "text", b: [{ c: "number" }], d: { nullable: "flag" } } as const;
  assert.deepEqual(mismatches(shape, { a: "", b: [{ c: 1 }], d: null, more: 1 }, "m"), []);
  assert.deepEqual(mismatches(shape, { a: 1, b: [{}], d: true }, "m"), ["m.a: number", "m.b[0].c: undefined"]);
  assert.deepEqual(mismatches(shape, { a: "", b: [], d: 0 }, "m"), ["m.b: nothing to look at", "m.d: number"]);
});

/** One real answer of each method, none with an empty list where something is read from it. */
async function answers(daemon: Daemon, cwd: string): Promise<Partial<Record<Method, unknown>>> {
  const memory = { cwd, name: "Cents", description: "Amounts are in cents", type: "project", scope: "project" } as const;
  const saved = await daemon.request("memory/save", { ...memory, body: "Amounts in invoices are in cents." });
  const one = { cwd, path: saved.path };
  const found = await daemon.request("recall", { cwd, query: "invoices in cents" });
  const list = await daemon.request("memory/list", { cwd });
  const get = await daemon.request("memory/get", one);
  const history = await daemon.request("memory/history", one);
  const forgotten = await daemon.request("memory/forget", one);
  const restored = await daemon.request("memory/restore", one);
  const inbox = await waiting(daemon, cwd);
  const ids = inbox.items.map(({ id }) => id);
  const status = await daemon.request("dream/status", { cwd });
  const started = await dreamed(daemon, cwd);
  return {
    ping: await daemon.request("ping", {}),
    recall: found,
    "memory/list": list,
    "memory/get": get,
    "memory/save": saved,
    "memory/forget": forgotten,
    "memory/restore": restored,
    "memory/history": history,
    "inbox/list": { items: inbox.items.filter(({ retires }) => retires) },
    "inbox/accept": await daemon.request("inbox/accept", { ids: ids.slice(0, 1) }),
    "inbox/edit": await daemon.request("inbox/edit", { ids: ids.slice(1, 2), text: "The notes are in the wiki." }),
    "inbox/reject": await daemon.request("inbox/reject", { ids: ids.slice(2) }),
    "dream/status": status,
    "dream/start": started,
    "events/subscribe": await daemon.request("events/subscribe", { kinds: ["daemon/stopping"] }),
  };
}

async function waiting(daemon: Daemon, cwd: string) {
  for (const text of [
    "We use pnpm for everything in the web client.",
    "The release notes live in the team drive.",
    "Always use tabs in Makefiles. Always use tabs in Go files.",
    "Forget what I said about tabs.",
  ]) {
    const event = hears(daemon, "extraction/finished");
    home.say(text);
    await event;
  }
  return daemon.request("inbox/list", { cwd });
}

async function dreamed(daemon: Daemon, cwd: string) {
  const end = hears(daemon, "dream/finished");
  const started = await daemon.request("dream/start", { cwd, force: true });
  await end;
  return started;
}

/** Where a value does not have the shape, as paths with the type that is there. */
function mismatches(shape: Shape, value: unknown, at: string): string[] {
  if (typeof shape === "string") {
    const wanted = { text: "string", number: "number", flag: "boolean" }[shape];
    return typeof value === wanted ? [] : [`${at}: ${typeof value}`];
  }
  if (isList(shape)) {
    if (!Array.isArray(value)) {
      return [`${at}: ${typeof value}`];
    }
    const found = value.flatMap((item, index) => mismatches(shape[0], item, `${at}[${index}]`));
    return value.length > 0 ? found : [`${at}: nothing to look at`];
  }
  if ("nullable" in shape && shape.nullable) {
    return value === null ? [] : mismatches(shape.nullable, value, at);
  }
  if (typeof value !== "object" || value === null) {
    return [`${at}: ${typeof value}`];
  }
  return Object.entries(shape).flatMap(([name, inner]) =>
    mismatches(inner as Shape, (value as Record<string, unknown>)[name], `${at}.${name}`),
  );
}

function isList(shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape);
}
