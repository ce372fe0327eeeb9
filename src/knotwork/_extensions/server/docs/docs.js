/** The routes of this server, from its OpenAPI document. */

const DOCUMENT = "/api/v1/openapi.json";
const WORDS = {
  en: {
    find: "Find a route", parameters: "Parameters", body: "Body", responses: "Responses",
    required: "required", copy: "Copy", copied: "Copied", needsKey: "This server needs a key.",
    key: "Key", use: "Use key", away: "The server does not answer. Reload the page to try again.",
    title: "API", refused: "Unknown key. It may have been removed.", note: "", in: {}, tags: {},
  },
  zh: {
    find: "查找接口", parameters: "参数", body: "请求体", responses: "响应",
    required: "必填", copy: "复制", copied: "已复制", needsKey: "此服务器需要密钥。",
    key: "密钥", use: "使用密钥", away: "服务器没有响应。请刷新页面重试。",
    title: "接口", refused: "密钥无效，可能已被删除。", note: "接口说明只有英文。",
    in: { path: "路径", query: "查询参数", header: "请求头" },
    tags: {
      questions: "提问", workspaces: "工作区", memory: "记忆", graph: "图谱", jobs: "任务",
      documents: "文档", evaluations: "评测", guide: "导览", threads: "对话", operations: "运维",
      openai: "OpenAI 兼容接口", folders: "文件夹",
    },
  },
  "zh-TW": {
    find: "尋找介面", parameters: "參數", body: "請求主體", responses: "回應",
    required: "必填", copy: "複製", copied: "已複製", needsKey: "此伺服器需要金鑰。",
    key: "金鑰", use: "使用金鑰", away: "伺服器沒有回應。請重新整理頁面再試。",
    title: "介面", refused: "金鑰無效，可能已被刪除。", note: "介面說明只有英文。",
    in: { path: "路徑", query: "查詢參數", header: "請求標頭" },
    tags: {
      questions: "提問", workspaces: "工作區", memory: "記憶", graph: "圖譜", jobs: "任務",
      documents: "文件", evaluations: "評測", guide: "導覽", threads: "對話", operations: "維運",
      openai: "OpenAI 相容介面", folders: "資料夾",
    },
  },
};

/** Return what the pages below /ui keep; some browsers keep nothing. */
function kept(name, place = "localStorage") {
  try {
    return window[place].getItem(name);
  } catch {
    return null;
  }
}

const wanted = (kept("knotwork.language") ?? navigator.language).toLowerCase();
const language = /^zh-(tw|hk|mo|hant)/.test(wanted) ? "zh-TW" : wanted.slice(0, 2);
const words = WORDS[language] ?? WORDS.en;
const main = document.querySelector("main");
let spec;
let key = kept("knotwork.key", "sessionStorage") ?? kept("knotwork.key") ?? "";

function h(tag, given, ...children) {
  const node = Object.assign(document.createElement(tag), given);
  node.append(...children);
  return node;
}

/** Return a text in which the words between backticks are code. */
function prose(text = "") {
  const parts = text.split("`");
  return h("p", {}, ...parts.map((part, n) => (n % 2 ? h("code", {}, part) : part)));
}

const paragraphs = ({ description, summary }) => (description ?? summary).split("\n\n").map(prose);

const followed = (schema = {}) =>
  schema.$ref ? spec.components.schemas[schema.$ref.split("/").pop()] : schema;
const members = (schema) => schema.anyOf ?? schema.oneOf ?? schema.allOf;

function typeOf(given) {
  const schema = followed(given);
  const values = schema.enum ?? ("const" in schema ? [schema.const] : null);
  if (values) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (members(schema)) return [...new Set(members(schema).map(typeOf))].join(" | ");
  if (schema.type === "array") return `[${typeOf(schema.items)}]`;
  const bounds = { "≥": schema.minimum, "≤": schema.maximum ?? schema.maxLength };
  const limits = Object.entries(bounds).filter(([, bound]) => bound !== undefined);
  return [schema.format ?? schema.type ?? "any", ...limits.flat()].join(" ");
}

function row(name, schema, isRequired, description, inner = []) {
  const preset = schema.default === undefined ? "" : ` = ${JSON.stringify(schema.default)}`;
  const type = ` ${typeOf(schema)}${preset}${isRequired ? ` · ${words.required}` : ""}`;
  const list = inner.length ? [h("ul", {}, ...inner)] : [];
  return h("li", {}, h("code", {}, name), h("small", {}, type), prose(description), ...list);
}

/** Return a row for each field of the objects in a value. */
function fields(given, around = []) {
  const schema = followed(given);
  if (around.includes(schema)) return [];
  const within = [...around, schema];
  const inner = [...(members(schema) ?? []), schema.items, schema.additionalProperties];
  return [
    ...Object.entries(schema.properties ?? {}).map(([name, field]) =>
      row(name, field, schema.required?.includes(name), field.description, fields(field, within)),
    ),
    ...inner.filter((one) => one instanceof Object).flatMap((one) => fields(one, within)),
  ];
}

const contents = (content = {}) =>
  Object.entries(content).map(([type, { schema }]) =>
    h("li", {}, h("code", {}, type), h("ul", {}, ...fields(schema))),
  );

/** Return a value that a field may have; texts are the name of the field in capitals. */
function example(name, given) {
  const schema = followed(given);
  const known = schema.examples?.[0] ?? schema.enum?.[0] ?? schema.const;
  if (known !== undefined) return known;
  if (members(schema)) return example(name, members(schema)[0]);
  if (schema.type === "array") return [example(name, schema.items)];
  if (schema.type === "string") return name.toUpperCase();
  if (schema.type !== "object") return schema.type === "boolean" || (schema.minimum ?? 1);
  const needed = (schema.required ?? []).map((one) => [one, example(one, schema.properties[one])]);
  return Object.fromEntries(needed);
}

function curl(method, path, { parameters = [], requestBody = { content: {} } }) {
  let address = new URL(spec.servers[0].url, location.href).href.replace(/\/$/, "") + path;
  for (const one of parameters.filter(({ required }) => required)) {
    const value = one.examples?.[0] ?? example(one.name, one.schema);
    if (one.in === "path") address = address.replace(`{${one.name}}`, value);
    else address += `${address.includes("?") ? "&" : "?"}${one.name}=${value}`;
  }
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = [`curl${method === "get" ? "" : ` -X ${method.toUpperCase()}`} ${quoted(address)}`];
  if (key) parts.push("-H 'Authorization: Bearer YOUR_KEY'");
  for (const [type, { schema }] of Object.entries(requestBody.content)) {
    const body = example("", schema);
    if (type === "application/json")
      parts.push(`-H 'Content-Type: ${type}'`, `-d ${quoted(JSON.stringify(body))}`);
    else parts.push(...Object.keys(body).map((name) => `-F '${name}=@FILE'`));
  }
  return parts.join(" \\\n  ");
}

function details(method, path, operation) {
  const code = h("code", {}, curl(method, path, operation));
  const copy = h("button", {}, words.copy);
  copy.onclick = async () => {
    getSelection().selectAllChildren(code); // for browsers that give pages no clipboard
    await navigator.clipboard?.writeText(code.textContent);
    copy.textContent = words.copied;
  };
  const lists = {
    [words.parameters]: (operation.parameters ?? []).map((one) =>
      row(`${one.name} (${words.in[one.in] ?? one.in})`, one.schema, one.required, one.description),
    ),
    [words.body]: contents(operation.requestBody?.content),
    [words.responses]: Object.entries(operation.responses).map(([status, one]) =>
      h("li", {}, h("b", {}, status), ` ${one.description}`, h("ul", {}, ...contents(one.content))),
    ),
  };
  return [
    ...paragraphs(operation).slice(1),
    ...[h("pre", {}, code), copy],
    ...Object.entries(lists).flatMap(([title, rows]) =>
      rows.length ? [h("h3", {}, title), h("ul", {}, ...rows)] : [],
    ),
  ];
}

function route(method, path, operation) {
  const name = [h("b", {}, method.toUpperCase()), " ", h("code", {}, path)];
  const line = h("summary", {}, ...name, paragraphs(operation)[0]);
  const node = h("details", { id: operation.operationId }, line);
  node.ontoggle = () => node.replaceChildren(line, ...details(method, path, operation));
  return node;
}

function show() {
  const tags = {};
  for (const [path, methods] of Object.entries(spec.paths))
    for (const [method, operation] of Object.entries(methods))
      (tags[operation.tags[0]] ??= []).push(route(method, path, operation));
  const sections = Object.entries(tags).map(([tag, routes]) =>
    h("section", {}, h("h2", {}, words.tags[tag] ?? tag), ...routes),
  );
  const find = h("input", { type: "search", placeholder: words.find, ariaLabel: words.find });
  find.oninput = () => {
    const wanted = find.value.toLowerCase().split(/\s+/);
    for (const section of sections) {
      const [, ...routes] = section.children;
      for (const node of routes) {
        const text = node.firstChild.textContent.toLowerCase();
        node.hidden = !wanted.every((word) => text.includes(word));
      }
      section.hidden = routes.every((node) => node.hidden);
    }
  };
  const title = h("h1", {}, `${spec.info.title} ${spec.info.version}`);
  const file = URL.createObjectURL(new Blob([JSON.stringify(spec)]));
  const link = h("a", { href: file, download: "openapi.json" }, "openapi.json");
  const lines = [prose(words.note), prose(spec.info.description)];
  main.replaceChildren(title, ...lines.slice(words.note ? 0 : 1), link, find, ...sections);
  const opened = document.getElementById(location.hash.slice(1));
  if (opened) opened.open = true;
  opened?.scrollIntoView();
}

function askForKey(reason) {
  const field = h("input", { type: "password", autocomplete: "off", required: true });
  const form = h("form", {}, h("label", {}, words.key, field), h("button", {}, words.use));
  form.onsubmit = (event) => {
    event.preventDefault();
    key = field.value.trim();
    load();
    sessionStorage.setItem("knotwork.key", key);
  };
  main.replaceChildren(h("h1", {}, document.title), h("p", { role: "alert" }, reason), form);
  field.focus();
}

async function load() {
  try {
    const headers = key ? { Authorization: `Bearer ${key}` } : {};
    const response = await fetch(DOCUMENT, { headers });
    spec = await response.json();
    if (response.ok) show();
    else askForKey(key ? words.refused : words.needsKey);
  } catch {
    main.replaceChildren(h("p", { role: "alert" }, words.away));
  }
}

document.documentElement.lang = words === WORDS.zh ? "zh-CN" : words === WORDS.en ? "en" : "zh-TW";
document.title = `Knotwork ${words.title}`;
document.documentElement.dataset.theme = kept("knotwork.theme");
load();
