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

interface Written {
  question: string;
  gold_pids?: string[];
  answers?: string[];
}

function readLine(line: string): Written {
  const [question = "", documents = "", answers = ""] = line.split(SEPARATOR);
  const named = readList(documents);
  const known = readList(answers);
  return {
    question: question.trim(),
    ...(named.length > 0 ? { gold_pids: named } : {}),
    ...(known.length > 0 ? { answers: known } : {}),
  };
}

function readList(text: string): string[] {
  return text
    .split(LIST_SEPARATOR)
    .map((part) => part.trim())
    .filter(Boolean);
}
