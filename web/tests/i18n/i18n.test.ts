import { afterEach, describe, expect, it } from "vitest";
import { t, textOf, translations } from "../../src/i18n";
import catalogue from "../../zh.json";

const SOURCES = Object.values(
  import.meta.glob<string>(["../../src/**/*.{ts,tsx}"], {
    query: "?raw",
    import: "default",
    eager: true,
  }),
).join("\n");

const zh = catalogue.pages;

const holes = (text: string) => new Set(text.match(/(?<=\{)\w+/g) ?? []);

afterEach(() => {
  translations.value = {};
});

describe("the texts of the pages", () => {
  it("are all used: one that is not translated is an error of types", () => {
    const isUsed = (text: string) => SOURCES.includes(`"${text}"`) || SOURCES.includes(`'${text}'`);
    expect(Object.keys(zh).filter((text) => !isUsed(text))).toEqual([]);
  });

  it("have the same parameters in each language, and no translation is empty", () => {
    for (const [text, translation] of Object.entries(zh)) {
      expect(holes(translation), text).toEqual(holes(text));
      expect(translation.trim(), text).not.toBe("");
    }
  });

  it("are written with their parameters, for one and for many", () => {
    const text = "{done} of {total} {total:document|documents}";
    expect(t(text, { done: 1, total: 1 })).toBe("1 of 1 document");
    expect(t(text, { done: 0, total: 1200 })).toBe("0 of 1,200 documents");
    translations.value = zh;
    expect(t(text, { done: 1, total: 1 })).toBe("1 / 1 个文档");
    expect(t("Delete {name}", { name: "{total}" })).toBe("删除 {total}");
  });

  it("stand for codes, and unknown codes for themselves", () => {
    const texts = { failed: "Failed" } as const;
    expect(textOf(texts, "failed")).toBe("Failed");
    expect(textOf(texts, "constructor")).toBe("constructor");
    expect(textOf(texts, "new", "")).toBe("");
  });
});
