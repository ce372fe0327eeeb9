/** Markdown as plain text, where there is room for a few lines only. */

const FENCE = /^[ >]*(?:`{3,}|~{3,})\S*[ \t]*\n?/gm;
const TABLE_RULE = /^[ >]*\|(?:[ :]*-{3,}[ :]*\|)+[ \t]*\n?/gm;
const LINE_MARK = /^(?:#{1,6} |> )/gm;
const ROW = /^[ \t]*\|(.*)\|[ \t]*$/gm;

/** Return a text without the marks of headings, code, quotes and tables. */
export function plainText(markdown: string): string {
  return markdown
    .replace(FENCE, "")
    .replace(TABLE_RULE, "")
    .replace(LINE_MARK, "")
    .replace(ROW, (_, cells: string) => cells.trim().replace(/ ?(?<!\\)\| ?/g, " · "))
    .replaceAll("**", "");
}
