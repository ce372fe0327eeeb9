import { afterEach, describe, expect, it } from "vitest";
import { say, setCatalogue, translate } from "../../src/i18n/say";
import { toTraditional } from "../../traditional";
import zh from "../../zh.json";

const catalogue = zh.server;

afterEach(() => setCatalogue({}));

describe("messages of the server", () => {
  it("are said with their parameters, those that are messages too", () => {
    setCatalogue(catalogue);
    expect(say("`a b.pdf` is password-protected.")).toBe("“a b.pdf”受密码保护。");
    expect(say("The upload was rejected. `x.md` is empty.")).toBe("上传被拒绝。“x.md”是空文件。");
    expect(say("2 of 7 sentences cite no source.")).toBe("7 句中有 2 句没有引用来源。");
    expect(translate("Something new.")).toBeNull();
    expect(translate("#store_busy")).toContain("稍后");
  });

  it("have no marks of code, and no advice for programs, in any language", () => {
    expect(say("Unknown document `a`.")).toBe("Unknown document “a”.");
    expect(say("List documents: GET …/documents")).toBe("");
    setCatalogue(catalogue);
    expect(say("List documents: GET …/documents")).toBe("");
    expect(Object.values(catalogue).filter((text) => text.includes("`"))).toEqual([]);
  });

  it("are written in traditional characters with the words of Taiwan", () => {
    expect(toTraditional("文件夹中的文件和文档已损坏，请重新加载页面。")).toBe(
      "資料夾中的檔案和文件已損壞，請重新載入頁面。",
    );
    expect(toTraditional("名称冲突，实体之间的关系已复制、合并并写入日志。")).toBe(
      "名稱衝突，實體之間的關係已複製、合併並寫入日誌。",
    );
  });
});
