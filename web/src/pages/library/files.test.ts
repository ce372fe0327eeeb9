import { describe, expect, it } from "vitest";
import { titleOf } from "./files";

const chosen = (...names: string[]) => names.map((name) => ({ name, file: new File([], name) }));

describe("the title of what is chosen", () => {
  it.each([
    [["survey-report_2024.pdf"], "Survey report 2024"],
    [["Survey report.final.docx", "a.md", "b.md"], "Survey report.final and 2 more"],
    [["basin/en/a.md", "basin/zh/b.md"], "basin"],
    [["basin/a.md", "other/b.md"], "A and 1 more"],
    [["会议纪要-2024-03.txt"], "会议纪要 2024-03"],
    [["README"], "README"],
    [["---.md"], "---"],
    [[".md"], ".md"],
  ])("%j is %s", (names, title) => {
    expect(titleOf(chosen(...names))).toBe(title);
  });
});
