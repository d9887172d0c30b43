// Drives a window of VS Code in a browser: one JSON command per line in, one JSON answer out.
// node vscode_window.mjs PLAYWRIGHT CHROMIUM ADDRESS
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [playwright, chromium, address] = process.argv.slice(2);
const WAIT = { timeout: 40_000 };
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const library = await import(pathToFileURL(playwright).href);
const browser = await library.chromium.launch({ executablePath: chromium, args: FLAGS });
const page = await browser.newPage({ viewport: { width: 1000, height: 600 } });
page.setDefaultTimeout(WAIT.timeout);

const quick = ".quick-input-widget";
const rows = (view) => page.locator(`.pane:has([aria-label^="${view}"]) .monaco-list-row`);

const COMMANDS = {
  async open() {
    await page.goto(address, WAIT);
    await page.waitForSelector(".monaco-workbench", WAIT);
  },
  /** The status bar item, once it has this text. */
  async status(text) {
    const item = page.locator(".statusbar-item", { hasText: text }).first();
    await item.waitFor(WAIT);
    return item.innerText();
  },
  /** Opens the views of the extension. */
  async views() {
    await page.locator('.activitybar .action-item a[aria-label^="memoryd"]').first().dispatchEvent("click");
  },
  /** The rows of a view, once one has this text. */
  async rows(view, text) {
    await rows(view).filter({ hasText: text }).first().waitFor(WAIT);
    return rows(view).allInnerTexts();
  },
  async badge() {
    return page.locator('.activitybar .action-item:has(a[aria-label^="memoryd"]) .badge-content').first().innerText();
  },
  async run(title) {
    await page.keyboard.press("F1");
    await page.locator(`${quick} input`).fill(`>${title}`);
    await page.locator(`${quick} .monaco-list-row`, { hasText: title }).first().click();
  },
  async type(text) {
    await page.locator(`${quick} input`).fill(text);
  },
  /** The items of the list in front, once one has this text. */
  async items(text) {
    await page.locator(`${quick} .monaco-list-row`, { hasText: text }).first().waitFor(WAIT);
    return page.locator(`${quick} .monaco-list-row`).allInnerTexts();
  },
  async press(key) {
    await page.keyboard.press(key);
  },
  /** Waits for a tab of the editor with this title. */
  async tab(title) {
    await page.locator(".tab", { hasText: title }).first().waitFor(WAIT);
  },
  async noTab(title) {
    await page.locator(".tab", { hasText: title }).first().waitFor({ ...WAIT, state: "detached" });
  },
  /** Clicks an action of the row with this text. */
  async act(view, text, action) {
    const row = rows(view).filter({ hasText: text }).first();
    await row.hover();
    await row.locator(`a[aria-label^="${action}"]`).first().click();
  },
  async gone(view, text) {
    await rows(view).filter({ hasText: text }).first().waitFor({ ...WAIT, state: "detached" });
  },
  async notice(text) {
    await page.locator(".notification-list-item", { hasText: text }).first().waitFor(WAIT);
  },
  async button(text) {
    await page.locator(".notification-list-item .monaco-button", { hasText: text }).first().click();
  },
  /** Welcome text of a view. */
  async welcome(text) {
    await page.locator(".welcome-view-content", { hasText: text }).first().waitFor(WAIT);
  },
  async picture(path) {
    await page.mouse.move(700, 450); // no tooltip in it
    const tooltip = page.locator(".workbench-hover-container").first();
    await tooltip.waitFor({ timeout: 5_000, state: "hidden" }).catch(() => undefined);
    await page.screenshot({ path });
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line);
  try {
    const answer = await COMMANDS[name](...given);
    console.log(JSON.stringify({ answer: answer ?? null }));
  } catch (error) {
    await page.screenshot({ path: process.env.FAILURE_PICTURE ?? "failure.png" }).catch(() => undefined);
    console.log(JSON.stringify({ error: String(error).slice(0, 2000) }));
  }
}
await browser.close();
