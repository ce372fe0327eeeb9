import { useMemo, useState } from "preact/hooks";
import { t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { addressOf, go, linkTo, MAIN_PAGES, PAGE_TITLES, workspace } from "../../state/location";
import { language, theme } from "../../state/preferences";
import { set } from "../../state/set";
import { workspaces } from "../../state/workspaces";
import { Combobox, type Option } from "../Combobox";
import { Dialog } from "../Dialog";
import { findDocuments, findEntities, usePaused } from "../find";

interface Command extends Option {
  run: () => void;
}

const NONE: Command[] = [];

interface PaletteProps {
  onClose: () => void;
  openHelp: () => void;
  openSettings: () => void;
}

/** Everything by name: pages, workspaces, documents, entities, and a question. */
export function Palette({ onClose, openHelp, openSettings }: PaletteProps) {
  const [text, setText] = useState("");
  const found = useFound(text.trim());
  const commands = useMemo(() => {
    const question = text.trim();
    const wanted = question.toLowerCase();
    const fixed = listCommands(openHelp, openSettings).filter(
      ({ label, note }) => !wanted || `${label} ${note}`.toLowerCase().includes(wanted),
    );
    if (!wanted) return fixed;
    const run = () => go(linkTo("ask", { q: question }));
    const asking: Command = { id: "ask", label: question, note: t("Ask this"), icon: "ask", run };
    return [...fixed, ...found, asking];
  }, [text, found, openHelp, openSettings]);
  return (
    <Dialog title={t("Find anything")} class="palette" isBare onClose={onClose}>
      <Combobox
        label={t("Find anything")}
        placeholder={t("A page, a document, an entity or a question")}
        text={text}
        onText={setText}
        options={commands}
        onChoose={(index) => {
          onClose();
          commands[index]?.run();
        }}
      >
        <kbd>Esc</kbd>
      </Combobox>
    </Dialog>
  );
}

function listCommands(openHelp: () => void, openSettings: () => void): Command[] {
  const here = workspace.value;
  const steps: Command[] = (here ? MAIN_PAGES : []).map((name) => {
    const run = () => go(linkTo(name));
    return { id: `page-${name}`, label: t(PAGE_TITLES[name]), note: t("Page"), icon: name, run };
  });
  for (const { name, title: label } of workspaces.value ?? []) {
    if (name === here) continue;
    const run = () => go(addressOf(name, "ask"));
    steps.push({ id: `workspace-${name}`, label, note: t("Workspace"), icon: "right", run });
  }
  const dark = theme.value === "dark";
  const isEnglish = language.value === "en";
  steps.push(
    {
      id: "theme",
      label: dark ? t("Light theme") : t("Dark theme"),
      note: t("Theme"),
      icon: dark ? "light" : "dark",
      run: () => set(theme, dark ? "light" : "dark"),
    },
    {
      id: "language",
      label: isEnglish ? "简体中文" : "English",
      note: t("Language"),
      icon: "language",
      run: () => set(language, isEnglish ? "zh" : "en"),
    },
    { id: "settings", label: t("Settings"), note: "", icon: "settings", run: openSettings },
    { id: "help", label: t("Keyboard shortcuts"), note: "?", icon: "keyboard", run: openHelp },
  );
  return steps;
}

/** Return the documents and entities that a text may mean. */
function useFound(text: string): Command[] {
  const here = workspace.value;
  const sought = usePaused(text);
  const isSought = text.length > 1 && sought.length > 1;
  const found = useLoaded(
    isSought && here ? `${here}\n${sought}` : "",
    async (signal) => {
      const [documents, entities] = await Promise.all([
        findDocuments(sought, signal),
        findEntities(sought, signal),
      ]);
      return [
        ...documents.map((found): Command => {
          const run = () => go(linkTo("documents", { doc: found.id }));
          return { ...found, note: t("Document"), icon: "documents", run };
        }),
        ...entities.map((found): Command => {
          const run = () => go(linkTo("graph", { focus: found.id }));
          return { ...found, icon: "graph", run };
        }),
      ];
    },
    { keepsOld: true },
  );
  return isSought ? (found.data ?? NONE) : NONE;
}
