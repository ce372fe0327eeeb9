/** What a person prefers, kept in this browser alone. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
export type Language = "en" | "zh" | "zh-TW";

const PREFIX = "knotwork.";

/** Return what a storage keeps under a name; a browser that keeps nothing has nothing. */
function read(storage: "localStorage" | "sessionStorage", name: string): string | null {
  try {
    return window[storage].getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Keep a text under a name, or nothing any more; a full or locked storage is no fault. */
function write(
  storage: "localStorage" | "sessionStorage",
  name: string,
  value: string | null,
): void {
  try {
    if (value === null) window[storage].removeItem(PREFIX + name);
    else window[storage].setItem(PREFIX + name, value);
  } catch {
    // The page works without; it only forgets.
  }
}

/** What is kept in this browser, and what for as long as the tab is open. */
export const recall = (name: string) => read("localStorage", name);
export const keep = (name: string, value: string | null) => write("localStorage", name, value);
export const recallInTab = (name: string) => read("sessionStorage", name) ?? "";
export const keepInTab = (name: string, value: string) =>
  write("sessionStorage", name, value || null);

function readTheme(): Theme {
  const kept = recall("theme");
  return kept === "light" || kept === "dark" ? kept : "system";
}

function readLanguage(): Language {
  const kept = recall("language");
  if (kept === "en" || kept === "zh" || kept === "zh-TW") return kept;
  const preferred = navigator.language.toLowerCase();
  if (/^zh-(tw|hk|mo|hant)/.test(preferred)) return "zh-TW";
  return preferred.startsWith("zh") ? "zh" : "en";
}

export const theme = signal<Theme>(readTheme());
export const language = signal<Language>(readLanguage());
/** Whether single letters are keys (WCAG 2.1.4 wants a switch). */
export const usesLetterKeys = signal(recall("letter-keys") !== "off");

const darkWanted = window.matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(darkWanted.matches);
darkWanted.addEventListener("change", (event) => {
  systemIsDark.value = event.matches;
});

/** Return whether the dark colours are shown; canvases draw with it. */
export function isDark(): boolean {
  return theme.value === "dark" || (theme.value === "system" && systemIsDark.value);
}

/** Show what is preferred, and keep it. */
export function startPreferences(): void {
  effect(() => {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    keep("theme", theme.value === "system" ? null : theme.value);
  });
  effect(() => {
    document.documentElement.lang = language.value === "zh" ? "zh-CN" : language.value;
    keep("language", language.value);
  });
  effect(() => keep("letter-keys", usesLetterKeys.value ? null : "off"));
}
