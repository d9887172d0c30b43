/** Recall as you type: a list, and the file of the memory that is selected in it. */
import * as vscode from "vscode";
import type { Daemon } from "./daemon";
import { Failure } from "./failures";
import { openMemory, report } from "./messages";
import { Preview } from "./preview";
import { aside, bodyOf, plain } from "./wording";
import type { Recalled } from "./wire";

// Where a model chooses, every request costs something: wait until the person pauses.
const PAUSE_MS = 300;
const SHORTEST_QUERY = 2;
const BESIDE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("split-horizontal"),
  tooltip: "Open beside",
};

interface RecallItem extends vscode.QuickPickItem {
  readonly path: string;
}

export function recall(daemon: Daemon, cwd: string, query = ""): void {
  new RecallPick(daemon, cwd).show(query);
}

class RecallPick {
  private readonly pick = vscode.window.createQuickPick<RecallItem>();
  private readonly preview: Preview | undefined;
  private timer: NodeJS.Timeout | undefined;
  private asked = 0;
  private readonly limit: number;

  constructor(
    private readonly daemon: Daemon,
    private readonly cwd: string,
  ) {
    const settings = vscode.workspace.getConfiguration("memoryd.recall");
    this.limit = settings.get<number>("limit", 10);
    this.preview = settings.get<boolean>("preview", true) ? new Preview() : undefined;
    this.pick.title = "Recall from memoryd";
    this.pick.placeholder = "What do you want to know? For example: how do we deploy";
    this.pick.onDidChangeValue((value) => this.typed(value));
    this.pick.onDidChangeActive(([item]) => item && this.preview?.show(item.path));
    this.pick.onDidAccept(() => this.accept());
    this.pick.onDidTriggerItemButton(({ item }) => this.openBeside(item));
    this.pick.onDidHide(() => this.hidden());
  }

  show(query: string): void {
    this.pick.show();
    if (query) {
      this.pick.value = query;
      this.typed(query);
    }
  }

  private typed(value: string): void {
    clearTimeout(this.timer);
    this.asked += 1; // an answer to an earlier question is of no use now
    if (value.trim().length < SHORTEST_QUERY) {
      this.pick.items = [];
      this.pick.busy = false;
      return;
    }
    this.pick.busy = true;
    this.timer = setTimeout(() => void this.ask(value), PAUSE_MS);
  }

  private async ask(query: string): Promise<void> {
    const number = this.asked;
    try {
      const answer = await this.daemon.request("recall", { query, cwd: this.cwd, limit: this.limit });
      if (number === this.asked) {
        this.pick.items = answer.memories.length > 0 ? answer.memories.map(itemFor) : [nothing()];
      }
    } catch (error) {
      if (number === this.asked) {
        this.pick.hide();
        await report(error as Failure);
      }
    } finally {
      if (number === this.asked) {
        this.pick.busy = false;
      }
    }
  }

  private accept(): void {
    const [item] = this.pick.selectedItems;
    if (item?.path) {
      this.preview?.keep();
      this.pick.hide();
      openMemory(item.path).then(undefined, () => undefined); // the editor says what is wrong
    }
  }

  private openBeside(item: RecallItem): void {
    this.pick.hide();
    const column = vscode.ViewColumn.Beside;
    vscode.window.showTextDocument(vscode.Uri.file(item.path), { viewColumn: column }).then(undefined, () => undefined);
  }

  private hidden(): void {
    this.asked += 1;
    clearTimeout(this.timer);
    void this.preview?.end();
    this.pick.dispose();
  }
}

function itemFor(memory: Recalled): RecallItem {
  return {
    label: plain(memory.name, 100),
    description: plain(aside(memory)),
    detail: plain(bodyOf(memory.content) || memory.description, 160),
    alwaysShow: true, // the daemon has chosen already
    buttons: [BESIDE],
    path: memory.path,
  };
}

function nothing(): RecallItem {
  return { label: "Nothing is remembered about that", alwaysShow: true, path: "" };
}
