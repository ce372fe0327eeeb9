/** Traditional characters and the words of Taiwan, made of simplified Chinese texts by the build.
 *
 * Characters with several forms have the most frequent one, and `WORDS` the others.
 */

import { readFile } from "node:fs/promises";
import type { Plugin } from "vite";
import { CHARACTERS } from "./traditional-characters.ts";

/** Words that differ by more than their characters; the longest that fits is taken. */
const WORDS: Readonly<Record<string, string>> = {
  关系: "關係",
  联系: "聯繫",
  复制: "複製",
  重复: "重複",
  复杂: "複雜",
  绘制: "繪製",
  制作: "製作",
  二进制: "二進位",
  合并: "合併",
  冲突: "衝突",
  日志: "日誌",
  备注: "備註",
  注明: "註明",
  若干: "若干",
  干净: "乾淨",
  干扰: "干擾",
  日历: "日曆",
  界面: "介面",
  此操作无法撤销: "此操作無法復原",
  连接已断开: "連線已中斷",
  正在重连: "正在重新連線",
  无法连接: "無法連線",
  网络连接: "網路連線",
  可以连接: "可以連線",
  文件夹: "資料夾",
  文件: "檔案",
  文档: "文件",
  软件: "軟體",
  服务器: "伺服器",
  服务: "服務",
  数据库: "資料庫",
  数据: "資料",
  图数据: "圖資料",
  信息: "資訊",
  网络: "網路",
  链接: "連結",
  默认: "預設",
  设置: "設定",
  用户: "使用者",
  密钥: "金鑰",
  搜索: "搜尋",
  查找: "尋找",
  查询: "查詢",
  加载: "載入",
  浏览器: "瀏覽器",
  程序: "程式",
  进程: "處理程序",
  代码: "程式碼",
  字符: "字元",
  字段: "欄位",
  快捷键: "快速鍵",
  视图: "檢視",
  窗口: "視窗",
  筛选: "篩選",
  导入: "匯入",
  导出: "匯出",
  保存: "儲存",
  另存为: "另存為",
  打开: "開啟",
  创建: "建立",
  添加: "新增",
  运行: "執行",
  启用: "啟用",
  支持: "支援",
  内存: "記憶體",
  磁盘: "磁碟",
  缓存: "快取",
  质量: "品質",
  置信度: "信心度",
  社区: "社群",
  列表: "清單",
  编码: "編碼",
  解压: "解壓縮",
  压缩包: "壓縮檔",
  分辨率: "解析度",
  录音: "錄音",
  响应: "回應",
  回复: "回覆",
  撤销: "復原",
  组件: "元件",
  映射: "對應",
  扩展名: "副檔名",
  办公文档: "辦公文件",
  矢量图: "向量圖",
  屏幕: "螢幕",
  智能体: "代理程式",
  算法: "演算法",
  调用: "呼叫",
  元数据: "中繼資料",
  对象: "物件",
  变量: "變數",
  函数: "函式",
  参数: "參數",
  模块: "模組",
  菜单: "選單",
  粘贴: "貼上",
  剪贴板: "剪貼簿",
  注释: "註解",
  批注: "註解",
  项目: "專案",
  样本: "範例",
  示例: "範例",
  鼠标: "滑鼠",
  拖拽: "拖曳",
  点击: "點選",
  单击: "按一下",
  双击: "按兩下",
  全局: "全域",
  局部: "區域",
  令牌: "權杖",
  接口: "介面",
  端口: "連接埠",
  登录: "登入",
  账户: "帳戶",
  视频: "影片",
  音频: "音訊",
  图像: "影像",
  打印: "列印",
  在线: "線上",
  离线: "離線",
  实时: "即時",
  刷新: "重新整理",
  只读: "唯讀",
  后台: "背景",
  范围: "範圍",
  里面: "裡面",
  这里: "這裡",
};

const LONGEST = Math.max(...Object.keys(WORDS).map((word) => word.length));
const SIGN = new Map(
  CHARACTERS.split(" ").map(([simple = "", other = ""]) => [simple, other] as const),
);

/** Return a text in the characters and words of Taiwan. */
export function toTraditional(text: string): string {
  let written = "";
  for (let at = 0; at < text.length; ) {
    let length = Math.min(LONGEST, text.length - at);
    while (length > 1 && !(text.slice(at, at + length) in WORDS)) length -= 1;
    const part = text.slice(at, at + length);
    written += length > 1 ? WORDS[part] : (SIGN.get(part) ?? part);
    at += length;
  }
  return written;
}

const MARK = "?traditional";

/** Lets `import("../../zh.json?traditional")` load texts in traditional characters. */
export function traditional(): Plugin {
  return {
    name: "traditional",
    enforce: "pre",
    async load(id) {
      if (!id.endsWith(MARK)) return null;
      const text = await readFile(id.slice(0, -MARK.length), "utf-8");
      return { code: `export default ${toTraditional(text)}`, moduleType: "js" };
    },
  };
}
