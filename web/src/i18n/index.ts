/** All words of the pages, in the language that is preferred. */

import { computed, effect, signal } from "@preact/signals";
import { SOON_S } from "../state/pace";
import { type Language, language } from "../state/preferences";
import { en } from "./en";
import { type Catalogue, setCatalogue } from "./say";

/** What every language has; a text that is missing in one is an error of types. */
export type Messages = typeof en;

interface Words {
  pages: Messages;
  server: Catalogue;
}

/** Words of the pages and of the server, loaded when their language is chosen. */
const WORDS: Record<Language, () => Promise<Words>> = {
  en: async () => ({ pages: en, server: {} }),
  zh: async () => {
    const [pages, server] = await Promise.all([import("./zh"), import("../../server.zh.json")]);
    return { pages: pages.zh, server: server.default };
  },
  "zh-TW": async () => {
    const [pages, server] = await Promise.all([
      import("./zh.ts?traditional"),
      import("../../server.zh.json?traditional"),
    ]);
    return { pages: pages.zh, server: server.default };
  },
};

const words = signal<Messages>(en);

/** The words: read `t.value` while rendering. */
export const t = computed(() => words.value);

/** Load the words of a language. */
export async function loadWords(of: Language): Promise<void> {
  const { pages, server } = await WORDS[of]();
  if (language.value !== of) return;
  words.value = pages;
  setCatalogue(server);
}

/** Use the language that is preferred, from now on; wait for its words before the first page. */
export function startWords(): Promise<void> {
  const first = loadWords(language.value).catch(() => undefined);
  effect(() => {
    loadWords(language.value).catch(() => undefined);
  });
  return first;
}

const numbers = computed(() => new Intl.NumberFormat(language.value));
const dates = computed(
  () => new Intl.DateTimeFormat(language.value, { dateStyle: "medium", timeStyle: "short" }),
);

/** Write a number. */
export function count(value: number): string {
  return numbers.value.format(value);
}

/** Write a number with as many digits behind the point. */
export function decimal(value: number, digits: number): string {
  return value.toLocaleString(language.value, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** Write a share of one. */
export function percent(share: number): string {
  return share.toLocaleString(language.value, { style: "percent", maximumFractionDigits: 0 });
}

/** Write a time of day and date; what is no time stays as it is. */
export function moment(time: string | number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : dates.value.format(date);
}

/** Write a day; what is no time stays as it is. */
export function day(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  const dateStyle = language.value === "en" ? "medium" : "short";
  return date.toLocaleDateString(language.value, { dateStyle });
}

/** Write a size in bytes. */
export function size(bytes: number): string {
  const units = ["kilobyte", "megabyte", "gigabyte"] as const;
  let value = bytes > 0 ? Math.max(bytes / 1000, 0.1) : 0;
  let step = 0;
  while (value >= 1000 && step < units.length - 1) {
    value /= 1000;
    step += 1;
  }
  const maximumFractionDigits = value < 10 ? 1 : 0;
  const unit = units[step] ?? "kilobyte";
  return value.toLocaleString(language.value, { style: "unit", unit, maximumFractionDigits });
}

/** Write a duration in seconds, as short as it is still of use. */
export function duration(seconds: number): string {
  const write = (value: number, unit: string, digits = 0) =>
    value.toLocaleString(language.value, {
      style: "unit",
      unit,
      unitDisplay: "narrow",
      maximumFractionDigits: digits,
    });
  if (seconds < 1) return write(seconds * 1000, "millisecond");
  if (seconds < 10) return write(seconds, "second", 1);
  if (seconds < 90) return write(seconds, "second");
  if (seconds < 5400) return write(seconds / 60, "minute");
  return write(seconds / 3600, "hour", 1);
}

/** Write the time that is left of something, or nothing if it is not known. */
export function timeLeft(seconds: number | null): string {
  const words = t.value.jobs;
  if (seconds === null) return "";
  if (seconds < SOON_S) return words.soon;
  const step = seconds < 90 ? 5 : 60;
  return words.left(duration(Math.ceil(seconds / step) * step));
}

/** Write a time of a recording, as `1:05` or `1:02:03`. */
export function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] ? parts : parts.slice(1);
  return shown.map((part, index) => String(part).padStart(index ? 2 : 1, "0")).join(":");
}
