/** What an extractive report lists after its sentences, line by line. */
const NAMES = /^(Names|核心名称)\s*[:：]/;
const PHRASES = /^(Key phrases|关键词)\s*[:：]\s*/;

/** Markdown's links and pictures, and the list of details behind a title. */
const LINK = /!?\[([^\]]*)\]\([^)]*\)/g;
const DETAILS = /\s*(?:\([^()]*[,;][^()]*\)|（[^（）]*[、；][^（）]*）)$/;
const SEPARATOR = /(, |; |、|；)/;

/** Return the title of a community without markup and details; of a list of names the first two. */
export function shortTitle(title: string): string {
  const bare = title.replace(LINK, "$1").replace(DETAILS, "").trim() || title;
  return bare.split(SEPARATOR).slice(0, 3).join("");
}

/** Read a summary: its paragraphs, and its key phrases; names are left out, as the members say them. */
export function readSummary(summary: string) {
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
