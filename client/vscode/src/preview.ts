/**
 * Shows files while a list is open, one at a time in the preview tab, without taking the focus. When
 * the list is closed without a choice, the editor is as it was.
 */
import * as vscode from "vscode";

export class Preview {
  private readonly before = vscode.window.activeTextEditor;
  private shown: string | undefined;
  private last: Promise<void> = Promise.resolve();
  private wanted = "";
  private isKept = false;

  show(path: string): void {
    this.wanted = path;
    this.last = this.last.then(() => this.showNow(path));
  }

  /** The file that was shown last stays. */
  keep(): void {
    this.isKept = true;
  }

  async end(): Promise<void> {
    this.wanted = "";
    await this.last;
    if (this.isKept || this.shown === undefined) {
      return;
    }
    const tab = previewTab(this.shown);
    if (tab) {
      await vscode.window.tabGroups.close(tab);
    }
    if (this.before && !this.before.document.isClosed) {
      const { document, viewColumn, selection } = this.before;
      await vscode.window.showTextDocument(document, { ...(viewColumn && { viewColumn }), selection });
    }
  }

  private async showNow(path: string): Promise<void> {
    if (!path || path !== this.wanted) {
      return; // another one is selected by now
    }
    try {
      await vscode.window.showTextDocument(vscode.Uri.file(path), { preview: true, preserveFocus: true });
      this.shown = path;
    } catch {
      // It was removed meanwhile; the list still says what it was.
    }
  }
}

function previewTab(path: string): vscode.Tab | undefined {
  return vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .find((tab) => tab.isPreview && tab.input instanceof vscode.TabInputText && tab.input.uri.fsPath === path);
}
