/** What a person prefers, kept in this browser alone. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
export type Language = "en" | "zh" | "zh-TW";

const PREFIX = "knotwork.";

/** Return what is kept under a name; a browser that keeps nothing has nothing. */
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Keep a text under a name, or nothing any more; a full or locked storage is no fault. */
export function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // The page works without; it only forgets.
  }
}

/** Return what this tab keeps under a name, or an empty text. */
export function recallInTab(name: string): string {
  try {
    return sessionStorage.getItem(PREFIX + name) ?? "";
  } catch {
    return "";
  }
}

/** Keep a text under a name for as long as the tab is open; an empty one is not kept. */
export function keepInTab(name: string, value: string): void {
  try {
    if (value) sessionStorage.setItem(PREFIX + name, value);
    else sessionStorage.removeItem(PREFIX + name);
  } catch {
    // It lasts as long as the page.
  }
}

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
