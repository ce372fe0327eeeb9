import { describe, expect, it } from "vitest";
import { nameApart, titleOf } from "../../../src/pages/library/files";

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

describe("files of one name", () => {
  it.each([
    [
      ["a.md", "a.md", "b.md"],
      ["a.md", "a (2).md", "b.md"],
    ],
    [
      ["a.md", "a.md", "a (2).md", "a.md"],
      ["a.md", "a (3).md", "a (2).md", "a (4).md"],
    ],
    [
      ["x/a.md", "y/a.md", "x/a.md"],
      ["x/a.md", "y/a.md", "x/a (2).md"],
    ],
    [
      ["README", "README", ".env", ".env"],
      ["README", "README (2)", ".env", ".env (2)"],
    ],
  ])("%j are sent as %j", (names, sent) => {
    expect(nameApart(chosen(...names)).map(({ name }) => name)).toEqual(sent);
  });
});
