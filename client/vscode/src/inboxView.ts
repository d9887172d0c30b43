/** What only may be worth keeping: a list, its count as a badge, and the person's decisions. */
import * as vscode from "vscode";
import type { Daemon } from "./daemon";
import { Failure } from "./failures";
import { unlessRefused } from "./messages";
import type { Project } from "./project";
import { counted, plain } from "./wording";
import type { Candidate } from "./wire";

export class InboxView implements vscode.TreeDataProvider<Candidate>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly view: vscode.TreeView<Candidate>;
  private items: readonly Candidate[] = [];
  private loads = 0;
  readonly onDidChangeTreeData = this.changed.event;

  constructor(
    private readonly daemon: Daemon,
    private readonly project: Project,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.view = vscode.window.createTreeView("memoryd.inbox", { treeDataProvider: this });
  }

  get count(): number {
    return this.items.length;
  }

  dispose(): void {
    this.view.dispose();
    this.changed.dispose();
  }

  /** Asks again, and shows what waits now. */
  async load(): Promise<void> {
    const load = ++this.loads;
    const items = await this.waiting();
    if (load !== this.loads) {
      return; // a later one has newer items
    }
    this.items = items;
    const tooltip = `${counted(items.length, "statement waits", "statements wait")} for you`;
    this.view.badge = items.length > 0 ? { value: items.length, tooltip } : undefined;
    this.changed.fire();
  }

  async accept(candidate: Candidate): Promise<void> {
    const accept = (anyway: boolean) => this.daemon.request("inbox/accept", { ids: [candidate.id], anyway });
    await unlessRefused(accept, "Keep Anyway");
    await this.load();
  }

  async edit(candidate: Candidate): Promise<void> {
    const text = await vscode.window.showInputBox({
      title: "Edit and accept",
      prompt: "It is saved in these words",
      value: candidate.text,
    });
    if (text?.trim()) {
      const accept = (anyway: boolean) => this.daemon.request("inbox/edit", { ids: [candidate.id], text, anyway });
      await unlessRefused(accept, "Keep Anyway");
      await this.load();
    }
  }

  async reject(candidate: Candidate): Promise<void> {
    await this.daemon.request("inbox/reject", { ids: [candidate.id] });
    await this.load();
  }

  getChildren(candidate?: Candidate): Candidate[] {
    return candidate ? [] : [...this.items];
  }

  getTreeItem(candidate: Candidate): vscode.TreeItem {
    const item = new vscode.TreeItem(plain(candidate.text, 160));
    item.id = `candidate ${candidate.id}`;
    item.description = candidate.type;
    item.tooltip = tooltipFor(candidate);
    item.iconPath = new vscode.ThemeIcon(candidate.retires ? "archive" : "comment-unresolved");
    item.contextValue = candidate.retires ? "candidateToRetire" : "candidate";
    return item;
  }

  private async waiting(): Promise<readonly Candidate[]> {
    const cwd = this.project.cwd;
    if (this.daemon.state !== "connected" || !cwd) {
      return [];
    }
    try {
      return (await this.daemon.request("inbox/list", { cwd })).items;
    } catch (error) {
      this.log.warn(error instanceof Failure ? error.line : String(error));
      return [];
    }
  }
}

function tooltipFor(candidate: Candidate): string {
  const question = candidate.retires ? "Accept it to retire the memory." : "";
  const against = candidate.against.map((one) => `May contradict ${plain(one.file)}: ${plain(one.text, 300)}`);
  return [plain(candidate.text, 600), plain(candidate.reason), question, ...against].filter(Boolean).join("\n");
}
