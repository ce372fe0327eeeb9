/** The texts of the pages, in the language that is preferred, and how values are written in it. */

import { computed, effect, signal } from "@preact/signals";
import type zh from "../../zh.json";
import { SOON_S } from "../state/pace";
import { type Language, language } from "../state/preferences";
import { type Catalogue, setCatalogue } from "./say";

/** A text as the code has it, in English. `zh.json` translates each: one without is a type error. */
export type Text = keyof typeof zh.pages;
/** Texts by code, none of which has parameters. */
export type Texts = Readonly<Record<string, Exclude<Text, `${string}{${string}`>>>;

type Hole<T> = T extends `${string}{${infer Name}}${infer Rest}` ? Name | Hole<Rest> : never;
type Param<T> =
  Hole<T> extends infer Name ? (Name extends `${infer Number}:${string}` ? Number : Name) : never;
type Given<T> = [Hole<T>] extends [never]
  ? []
  : [Readonly<Record<Param<T> & string, string | number>>];

/** Translations by text; none in English. */
export const translations = signal<Catalogue>({});

/** Return a text in the language that is preferred.
 *
 * `{name}` is a parameter, whose numbers are written as `count` does. `{n:file|files}` is its
 * first word if `n` is one and otherwise its second.
 */
export function t<T extends Text>(text: T, ...[given]: Given<T>): string {
  const values: Readonly<Record<string, string | number>> = given ?? {};
  const translated = translations.value[text] ?? text;
  return translated.replace(HOLE, (_, name: string, one?: string, many = "") => {
    const value = values[name] ?? "";
    if (one !== undefined) return value === 1 ? one : many;
    return typeof value === "number" ? count(value) : value;
  });
}

const HOLE = /\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g;

/** Return the text of a code; by default, a code without one stands for itself. */
export function textOf(texts: Texts, code: string, otherwise = code): string {
  const text = Object.hasOwn(texts, code) ? texts[code] : undefined;
  return text ? t(text) : otherwise;
}

type Words = Record<"pages" | "server", Catalogue>;

/** Translations of the texts of the pages, and of the server's messages. */
const WORDS: Record<Language, () => Promise<{ default: Words }>> = {
  en: async () => ({ default: { pages: {}, server: {} } }),
  zh: () => import("../../zh.json"),
  "zh-TW": () => import("../../zh.json?traditional"),
};

/** Load the words of a language. */
export async function loadWords(of: Language): Promise<void> {
  const { pages, server } = (await WORDS[of]()).default;
  if (language.value !== of) return;
  translations.value = pages;
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
  if (seconds === null) return "";
  if (seconds < SOON_S) return t("a few seconds left");
  const step = seconds < 90 ? 5 : 60;
  return t("about {time} left", { time: duration(Math.ceil(seconds / step) * step) });
}

/** Write a time of a recording, as `1:05` or `1:02:03`. */
export function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] ? parts : parts.slice(1);
  return shown.map((part, index) => String(part).padStart(index ? 2 : 1, "0")).join(":");
}
