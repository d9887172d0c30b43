/** Where the socket is; tests/editors/test_vscode.py compares these rules with the command's own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { foundSocket, type World } from "../src/socketPath";

function world(env: Record<string, string>, there: readonly string[] = [], platform = "linux"): World {
  return { env, uid: 1000, platform, realHome: "/home/dev", exists: (path) => there.includes(path) };
}

const STATE = "/home/dev/.local/state/memoryd/memoryd.sock";

test("the runtime folder comes first, then the state folder", () => {
  assert.equal(foundSocket(world({ XDG_RUNTIME_DIR: "/run//user/1000/./" })), "/run/user/1000/memoryd.sock");
  assert.equal(foundSocket(world({ HOME: "/home/dev" })), STATE);
  assert.equal(foundSocket(world({ XDG_RUNTIME_DIR: "relative" })), STATE);
  const mac = "/home/dev/Library/Application Support/memoryd/memoryd.sock";
  assert.equal(foundSocket(world({ HOME: "/home/dev" }, [], "darwin")), mac);
});

test("the other usual place is tried if nothing is in the first", () => {
  assert.equal(foundSocket(world({ XDG_RUNTIME_DIR: "/run/x" }, [STATE])), STATE);
  const usual = "/run/user/1000/memoryd.sock";
  assert.equal(foundSocket(world({}, [usual])), usual);
  assert.equal(foundSocket(world({ HOME: "/tmp/other" }, [usual])), "/tmp/other/.local/state/memoryd/memoryd.sock");
});

test("a path that was set counts alone, and is refused if it cannot be used", () => {
  assert.equal(foundSocket(world({ MEMORYD_SOCKET: "/a.sock" }, [STATE])), "/a.sock");
  for (const wrong of ["a.sock", "/" + "z".repeat(107)]) {
    assert.throws(() => foundSocket(world({ MEMORYD_SOCKET: wrong })), /full path of at most 107 bytes/);
  }
});

test("a path that is too long for the kernel is replaced by a short one of this user", () => {
  assert.match(foundSocket(world({ XDG_RUNTIME_DIR: "/x".repeat(60) })), /^\/tmp\/memoryd-1000-[0-9a-f]{12}\/memoryd\.sock$/);
});
