/** What the editor shows: plain whatever the text, grouped, and true to the events. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as wording from "../src/wording";
import type { Memory } from "../src/wire";

const MEMORY: Memory = {
  path: "/m/a.md",
  file: "a.md",
  name: "A",
  description: "",
  type: "project",
  scope: "project",
  modified: "",
  age: "today",
  stale: false,
  retired: false,
};

test("a text from outside has no icons, links, line ends or invisible characters in it", () => {
  const hostile = "\u202e$(alert) [click](command:evil)\n\u0000\u200b\u{e0041} end\t$(x)";
  assert.equal(wording.plain(hostile), "$ (alert) [click] (command:evil) end $ (x)");
  for (const text of ["$$((", "$\u200b(alert)", "]\u200b(command:x)", "$\u2060(", "]\u0000(x)", "$\n(x)"]) {
    assert.doesNotMatch(wording.plain(text), /\$\(|\]\(/, JSON.stringify(text));
  }
});

test("a long text is cut between signs, never inside one", () => {
  assert.equal(wording.plain("😀".repeat(300), 10), "😀".repeat(9) + "…");
});

test("memories are grouped by scope and type in a fixed order, unknown ones last", () => {
  const one = (scope: string, type: string | null, name: string) => ({ ...MEMORY, scope, type, name });
  const groups = wording.byScopeAndType([
    one("moon", "user", "f"),
    one("user", "user", "e"),
    one("project", null, "d"),
    one("project", "feedback", "c"),
    one("project", "project", "b"),
    one("project", "feedback", "a"),
  ]);
  const flat = groups.map((scope) => [scope.name, scope.items.map((type) => [type.name, type.items.map((m) => m.name)])]);
  assert.deepEqual(flat, [
    ["project", [["project", ["b"]], ["feedback", ["c", "a"]], ["no type", ["d"]]]],
    ["user", [["user", ["e"]]]],
    ["moon", [["user", ["f"]]]],
  ]);
});

test("a selection is named by its first sentence and described by its first line", () => {
  assert.equal(wording.nameFor("We deploy on Thursdays. Never on Fridays."), "We deploy on Thursdays");
  assert.equal(wording.nameFor("  \n.;"), "note");
  assert.equal(wording.nameFor("Note: use tabs in Makefiles"), "Note: use tabs in Makefiles");
  const long = wording.nameFor("word ".repeat(100));
  assert.ok(long.length <= 60 && long.endsWith("word…"), long);
  assert.ok(wording.nameFor("x".repeat(500)).length <= 60);
  assert.equal(wording.descriptionFor("\n first \r\nsecond"), "first");
});

test("a stale memory says that it should be checked", () => {
  assert.equal(wording.aside({ ...MEMORY, stale: true, age: "9 months ago" }), "project · project · 9 months ago, check it");
});

test("the text of a memory is shown without its header", () => {
  assert.equal(wording.bodyOf("---\nname: A\n---\n\nText --- here\n"), "Text --- here");
  assert.equal(wording.bodyOf("No header\n---\nx\n---\n"), "No header\n---\nx\n---");
});

test("the status bar follows a dream from its start to its end", () => {
  const event = (kind: string, more: object) => ({ kind, project: "/p", dream: 7, ...more });
  let dreams = wording.afterEvent([], event("dream/started", { memories: 3 }));
  assert.equal(wording.statusLine("connected", dreams, 0, "").text, "$(sync~spin) dreaming");
  dreams = wording.afterEvent(dreams, event("dream/phase", { phase: "gather", step: "2 of 4", files: 0, usd: 0 }));
  dreams = wording.afterEvent(dreams, event("dream/file", { file: "a.md", files: 2, usd: 0.5 }));
  const line = wording.statusLine("connected", dreams, 2, "");
  assert.equal(line.text, "$(sync~spin) dreaming: gather $(inbox) 2");
  assert.equal(line.tooltip, "Dream 7 in /p · step 2 of 4 · 2 files · $0.50\n2 statements wait in the inbox");
  assert.equal(wording.afterEvent(dreams, event("memory/saved", {})), dreams);
  assert.deepEqual(wording.afterEvent(dreams, event("dream/finished", { dream: 8 })), dreams);
  assert.deepEqual(wording.afterEvent(dreams, event("dream/finished", {})), []);
  assert.deepEqual(wording.afterEvent(dreams, { kind: "daemon/stopping", project: "" }), []);
});

test("fields of an event that are missing or of another type are left out", () => {
  const dreams = wording.afterEvent([], { kind: "dream/phase", project: "", dream: "x", phase: 3, files: NaN, usd: null });
  assert.deepEqual(dreams, [{ number: 0, project: "", phase: "", step: "", files: 0, usd: 0 }]);
  assert.equal(wording.endOfDream({ kind: "dream/finished", project: "", dream: 3 }), "Dream 3:");
});

test("the status bar says that the daemon is missing, and why", () => {
  const absent = wording.statusLine("absent", [], 3, "to start it, type: memoryd serve");
  assert.deepEqual(absent, {
    text: "$(debug-disconnect) memoryd is not running",
    tooltip: "to start it, type: memoryd serve",
    isWarning: true,
  });
  assert.equal(wording.statusLine("unusable", [], 0, "x").text, "$(debug-disconnect) memoryd cannot be reached");
  assert.equal(wording.statusLine("connected", [], 0, "x").text, "$(book) memoryd");
});
