/** package.json, the code and the README say the same. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";

const ROOT = resolve(__dirname, "../..");
const read = (name: string) => readFileSync(join(ROOT, name), "utf8");
const manifest = JSON.parse(read("package.json"));
const declared: { command: string; title: string }[] = manifest.contributes.commands;

test("every command that is declared is registered, and no other", () => {
  const table = /const commands:.*= \{\n([\s\S]*?)\n {2}\};/.exec(read("src/extension.ts"))?.[1] ?? "";
  const registered = [...table.matchAll(/^ {4}(\w+): /gm)].map((match) => `memoryd.${match[1]}`);
  assert.deepEqual(registered.sort(), declared.map(({ command }) => command).sort());
});

test("menus and welcome texts name commands that exist", () => {
  const known = new Set([...declared.map(({ command }) => command), "vscode.openFolder"]);
  const used = [
    ...Object.values<{ command: string }[]>(manifest.contributes.menus).flat().map(({ command }) => command),
    ...[...JSON.stringify(manifest.contributes.viewsWelcome).matchAll(/command:([\w.]+)/g)].map((match) => match[1]),
  ];
  assert.deepEqual(used.filter((command) => !known.has(command ?? "")), []);
});

test("every setting that is read is declared", () => {
  const settings = Object.keys(manifest.contributes.configuration.properties);
  assert.deepEqual(settings, ["memoryd.socket", "memoryd.recall.limit", "memoryd.recall.preview"]);
  assert.equal(manifest.contributes.configuration.properties["memoryd.socket"].scope, "machine");
});

test("the README lists every command and every setting", () => {
  const page = read("README.md");
  const names = [...declared.map(({ title }) => title), ...Object.keys(manifest.contributes.configuration.properties)];
  assert.deepEqual(names.filter((name) => !page.includes(name)), []);
});

test("the protocol half does not import the editor", () => {
  const half = ["daemon", "failures", "socketPath", "wire", "wording"];
  const importing = readdirSync(join(ROOT, "src")).filter((file) => /from "vscode"/.test(read(`src/${file}`)));
  assert.deepEqual(half.filter((name) => importing.includes(`${name}.ts`)), []);
  assert.ok(importing.includes("extension.ts"));
});

test("what is packed is there, and has the version of the daemon beside it", () => {
  assert.ok(existsSync(join(ROOT, manifest.main)));
  const daemons = readFileSync(join(ROOT, "../memoryd_client/version.py"), "utf8");
  assert.ok(daemons.includes(`"${manifest.version}"`), daemons);
  assert.ok(read("CHANGELOG.md").includes(`[${manifest.version}]`));
  assert.doesNotMatch(read("package-lock.json"), /"resolved"/);
});
