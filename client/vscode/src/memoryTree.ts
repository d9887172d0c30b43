/** What is remembered about the project, by scope and type. */
import * as vscode from "vscode";
import type { Daemon } from "./daemon";
import { Failure } from "./failures";
import type { Project } from "./project";
import { byScopeAndType, counted, type Group, plain } from "./wording";
import type { Memory } from "./wire";

type Node =
  | { readonly kind: "scope"; readonly group: Group<Group<Memory>> }
  | { readonly kind: "type"; readonly scope: string; readonly group: Group<Memory> }
  | MemoryNode;

/** What the commands of the tree are called with. */
export interface MemoryNode {
  readonly kind: "memory";
  readonly memory: Memory;
  readonly cwd: string;
}

const SCOPE_ICONS: Readonly<Record<string, string>> = {
  project: "folder",
  group: "multiple-windows",
  team: "organization",
  user: "account",
  agent: "robot",
};

export class MemoryTree implements vscode.TreeDataProvider<Node> {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;

  constructor(
    private readonly daemon: Daemon,
    private readonly project: Project,
  ) {}

  refresh(): void {
    this.changed.fire();
  }

  async getChildren(node?: Node): Promise<Node[]> {
    const cwd = this.project.cwd;
    switch (node?.kind) {
      case undefined:
        return (await this.groups(cwd)).map((group) => ({ kind: "scope", group }));
      case "scope":
        return node.group.items.map((group) => ({ kind: "type", scope: node.group.name, group }));
      case "type":
        return node.group.items.map((memory) => ({ kind: "memory", memory, cwd }));
      case "memory":
        return [];
    }
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case "scope":
        return scopeItem(node.group);
      case "type":
        return typeItem(node.scope, node.group);
      case "memory":
        return memoryItem(node);
    }
  }

  /** Empty while there is no daemon: the view says so itself. */
  private async groups(cwd: string): Promise<Group<Group<Memory>>[]> {
    if (!cwd || this.daemon.state !== "connected") {
      return [];
    }
    try {
      return byScopeAndType((await this.daemon.request("memory/list", { cwd })).memories);
    } catch (error) {
      if (error instanceof Failure && ["not-running", "broken"].includes(error.kind)) {
        return [];
      }
      throw new Error(error instanceof Failure ? error.line : String(error));
    }
  }
}

function scopeItem(group: Group<Group<Memory>>): vscode.TreeItem {
  const item = new vscode.TreeItem(group.name, vscode.TreeItemCollapsibleState.Expanded);
  const count = group.items.reduce((sum, one) => sum + one.items.length, 0);
  item.id = `scope ${group.name}`;
  item.description = String(count);
  item.tooltip = counted(count, "memory", "memories");
  item.iconPath = new vscode.ThemeIcon(SCOPE_ICONS[group.name] ?? "folder");
  return item;
}

function typeItem(scope: string, group: Group<Memory>): vscode.TreeItem {
  const item = new vscode.TreeItem(group.name, vscode.TreeItemCollapsibleState.Expanded);
  item.id = `type ${scope} ${group.name}`;
  item.description = String(group.items.length);
  return item;
}

function memoryItem({ memory }: MemoryNode): vscode.TreeItem {
  const item = new vscode.TreeItem(plain(memory.name, 100));
  item.id = `memory ${memory.path}`;
  item.description = plain(memory.description, 120);
  item.tooltip = [plain(memory.name), plain(memory.description, 400), memory.age, memory.path].join("\n");
  item.iconPath = memory.stale
    ? new vscode.ThemeIcon("note", new vscode.ThemeColor("list.warningForeground"))
    : new vscode.ThemeIcon("note");
  item.contextValue = "memory";
  item.command = { command: "vscode.open", title: "Open", arguments: [vscode.Uri.file(memory.path)] };
  return item;
}
