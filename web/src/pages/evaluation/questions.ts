/** Questions as a person writes them, as the lines that the server reads. */

const SEPARATOR = /[|｜\t]/;
const LIST_SEPARATOR = /[;；]/;

/** Turn lines of `question | documents | answers` into lines of JSON; those that are stay.
 *
 * Several documents are all needed; several answers are ways to say the same.
 */
export function writeLines(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => (line.startsWith("{") ? line : JSON.stringify(readLine(line))))
    .join("\n");
}

function readLine(line: string): Record<string, string | string[]> {
  const [question = "", documents = "", answers = ""] = line.split(SEPARATOR);
  const lists = { gold_pids: readList(documents), answers: readList(answers) };
  const known = Object.entries(lists).filter(([, named]) => named.length > 0);
  return { question: question.trim(), ...Object.fromEntries(known) };
}

function readList(text: string): string[] {
  return text
    .split(LIST_SEPARATOR)
    .map((part) => part.trim())
    .filter(Boolean);
}
