/** What an extractive report lists after its sentences, line by line. */
const NAMES = /^(Names|核心名称)\s*[:：]/;
const PHRASES = /^(Key phrases|关键词)\s*[:：]\s*/;

export interface Summary {
  paragraphs: string[];
  phrases: string[];
}

/** Read a summary: its paragraphs, and its key phrases; names are left out, as the members say them. */
export function readSummary(summary: string): Summary {
  const lines = summary.split("\n").map((line) => line.trim());
  const kept = lines.filter((line) => line && !NAMES.test(line));
  const phrases = kept
    .filter((line) => PHRASES.test(line))
    .flatMap((line) =>
      line
        .replace(PHRASES, "")
        .replace(/[.。]$/, "")
        .split(/[,，、]\s*/),
    );
  return { paragraphs: kept.filter((line) => !PHRASES.test(line)), phrases };
}
