/**
 * Where the daemon listens. The rules are those of docs/socket.md and of the daemon's own command:
 * - A path that was set counts alone, and must be a full path that the kernel can take.
 * - Else `memoryd.sock` in the runtime folder, or in the state folder if there is none. If nothing
 *   is there, the other usual place is tried: an editor may have been started with few variables.
 * - A derived path that is too long for the kernel is replaced by a short one in /tmp.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir, userInfo } from "node:os";

const PATH_BYTES = 4096;
const SOCKET = "memoryd.sock";

export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly uid: number;
  readonly platform: string;
  /** The user's real home, whatever HOME says. */
  readonly realHome: string;
  readonly exists: (path: string) => boolean;
}

export function thisWorld(setting = ""): World {
  const env = setting ? { ...process.env, MEMORYD_SOCKET: setting } : process.env;
  return {
    env,
    uid: process.getuid?.() ?? -1,
    platform: process.platform,
    realHome: realHome(),
    exists: existsSync,
  };
}

/** Where the daemon really listens; throws a RangeError if the path that was set cannot be used. */
export function foundSocket(world: World): string {
  const path = socketPath(world);
  if (world.env["MEMORYD_SOCKET"] || world.exists(path)) {
    return path;
  }
  if (folderIn(world.env["XDG_RUNTIME_DIR"])) {
    const other = within(stateFolder(world), SOCKET);
    return world.exists(other) ? other : path;
  }
  const other = `/run/user/${world.uid}/${SOCKET}`;
  const isOwnHome = homeFolder(world) === world.realHome;
  return isOwnHome && world.exists(other) ? other : path;
}

export function socketPath(world: World): string {
  const limitBytes = world.platform === "linux" ? 107 : 103;
  const asked = world.env["MEMORYD_SOCKET"];
  if (asked) {
    if (!asked.startsWith("/") || Buffer.byteLength(asked) > limitBytes) {
      throw new RangeError(`the socket must be a full path of at most ${limitBytes} bytes`);
    }
    return asked;
  }
  const path = within(folderIn(world.env["XDG_RUNTIME_DIR"]) || stateFolder(world), SOCKET);
  if (Buffer.byteLength(path) <= limitBytes) {
    return path;
  }
  const hash = createHash("sha256").update(path).digest("hex").slice(0, 12);
  return `/tmp/memoryd-${world.uid}-${hash}/${SOCKET}`;
}

function stateFolder(world: World): string {
  const usual = world.platform === "darwin" ? "Library/Application Support" : ".local/state";
  const named = folderIn(world.env["XDG_STATE_HOME"]);
  return within(named || within(homeFolder(world), usual), "memoryd");
}

function homeFolder(world: World): string {
  return folderIn(world.env["HOME"]) || world.realHome;
}

/** The normalised folder that a variable names; empty unless it is an absolute path. */
function folderIn(value: string | undefined): string {
  if (!value?.startsWith("/") || Buffer.byteLength(value) > PATH_BYTES) {
    return "";
  }
  return "/" + value.split("/").filter((part) => part !== "" && part !== ".").join("/");
}

function within(folder: string, name: string): string {
  return `${folder.replace(/\/+$/, "")}/${name}`;
}

function realHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    return homedir(); // a container's user need not be in the list of users
  }
}
