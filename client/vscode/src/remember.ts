/** Saves the selection, or what the person types, as a memory. */
import * as vscode from "vscode";
import type { Daemon } from "./daemon";
import { openMemory, unlessRefused } from "./messages";
import { descriptionFor, nameFor, plain, TYPES } from "./wording";
import type { TopicType } from "./wire";

export async function remember(daemon: Daemon, cwd: string, selected: string): Promise<void> {
  const text = selected.trim() || (await typedText());
  if (!text) {
    return;
  }
  const type = await chosenType(text);
  if (!type) {
    return;
  }
  const saved = await unlessRefused(
    (anyway) =>
      daemon.request("memory/save", {
        cwd,
        name: nameFor(text),
        description: descriptionFor(text),
        type,
        body: text,
        scope: "auto",
        anyway,
      }),
    "Save Anyway",
  );
  if (!saved) {
    return;
  }
  const choice = await vscode.window.showInformationMessage(`Remembered: ${plain(nameFor(text), 80)}`, "Open");
  if (choice === "Open") {
    await openMemory(saved.path);
  }
}

export function selectedText(): string {
  const editor = vscode.window.activeTextEditor;
  return editor ? editor.selections.map((one) => editor.document.getText(one)).join("\n").trim() : "";
}

async function typedText(): Promise<string> {
  const typed = await vscode.window.showInputBox({
    title: "Remember",
    prompt: "One fact, rule or preference, in a sentence or two",
    placeHolder: "We deploy on Thursdays, never on Fridays",
  });
  return typed?.trim() ?? "";
}

async function chosenType(text: string): Promise<TopicType | undefined> {
  const items = TYPES.map(({ type, says }) => ({ label: type, description: says }));
  const chosen = await vscode.window.showQuickPick(items, {
    title: `Remember: ${plain(nameFor(text), 80)}`,
    placeHolder: "What kind of memory is it?",
  });
  return chosen?.label;
}
