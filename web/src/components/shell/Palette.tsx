import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { addressOf, go, linkTo, MAIN_PAGES, workspace } from "../../state/location";
import { language, theme } from "../../state/preferences";
import { workspaces } from "../../state/workspaces";
import { Icon, type IconName } from "../Icon";

interface Command {
  id: string;
  label: string;
  hint: string;
  icon: IconName;
  run: () => void;
}

const MOST_FOUND = 6;
const PAUSE_MS = 150;
const NONE: Command[] = [];

interface PaletteProps {
  onClose: () => void;
  openHelp: () => void;
  openSettings: () => void;
}

/** Everything by name: pages, workspaces, documents, entities, and a question. */
export function Palette({ onClose, openHelp, openSettings }: PaletteProps) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const found = useFound(text.trim());
  const box = useRef<HTMLDialogElement>(null);
  const listId = useId();
  const words = t.value.palette;
  useEffect(() => {
    const before = document.activeElement;
    if (!box.current?.open) box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const commands = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    const fixed = listCommands(openHelp, openSettings).filter(
      ({ label, hint }) => !wanted || `${label} ${hint}`.toLowerCase().includes(wanted),
    );
    return wanted ? [...fixed, ...found, askCommand(text.trim())] : fixed;
  }, [text, found, openHelp, openSettings]);
  const at = Math.min(chosen, commands.length - 1);
  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setChosen((at + step + commands.length) % commands.length);
    else if (event.key === "Enter" && !event.isComposing) run(commands[at]);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    document.getElementById(`${listId}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at, listId]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={box}
      class="palette"
      aria-label={words.title}
      onCancel={onClose}
      onClick={(event) => {
        if (event.target === box.current) onClose();
      }}
    >
      <div class="palette-body">
        <div class="palette-field">
          <Icon name="search" />
          <input
            role="combobox"
            aria-expanded="true"
            aria-controls={listId}
            aria-activedescendant={`${listId}-${at}`}
            aria-label={words.title}
            placeholder={words.placeholder}
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setChosen(0);
            }}
            onKeyDown={press}
          />
          <kbd>Esc</kbd>
        </div>
        <div id={listId} role="listbox" aria-label={words.title} class="palette-list">
          {commands.map((command, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
            <div
              key={command.id}
              id={`${listId}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onClick={() => run(command)}
              onPointerMove={() => setChosen(index)}
            >
              <Icon name={command.icon} />
              <span class="grow clip">{command.label}</span>
              <span class="faint small">{command.hint}</span>
            </div>
          ))}
        </div>
      </div>
    </dialog>
  );
}

function askCommand(question: string): Command {
  return {
    id: "ask-this",
    label: question,
    hint: t.value.palette.ask,
    icon: "ask",
    run: () => go(linkTo("ask", { q: question })),
  };
}

function listCommands(openHelp: () => void, openSettings: () => void): Command[] {
  const { palette, pages, shell } = t.value;
  const here = workspace.value;
  const steps: Command[] = here
    ? MAIN_PAGES.map((name) => ({
        id: `page-${name}`,
        label: pages[name],
        hint: palette.page,
        icon: name,
        run: () => go(linkTo(name)),
      }))
    : [];
  for (const { name, title } of workspaces.value ?? []) {
    if (name === here) continue;
    const run = () => go(addressOf(name, "ask"));
    steps.push({
      id: `workspace-${name}`,
      label: title,
      hint: palette.workspace,
      icon: "right",
      run,
    });
  }
  const dark = theme.value === "dark";
  steps.push(
    {
      id: "theme",
      label: dark ? palette.light : palette.dark,
      hint: shell.theme,
      icon: dark ? "light" : "dark",
      run: () => {
        theme.value = dark ? "light" : "dark";
      },
    },
    {
      id: "language",
      label: language.value === "en" ? "简体中文" : "English",
      hint: shell.language,
      icon: "language",
      run: () => {
        language.value = language.value === "en" ? "zh" : "en";
      },
    },
    { id: "settings", label: shell.settings, hint: "", icon: "settings", run: openSettings },
    { id: "help", label: shell.keys, hint: "?", icon: "keyboard", run: openHelp },
  );
  return steps;
}

/** Return the documents and entities that a text may mean. */
function useFound(text: string): Command[] {
  const here = workspace.value;
  const found = useLoaded(
    text.length > 1 && here ? `${here}\n${text}` : "",
    async (signal) => {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      const params = { path: { workspace: here }, query: { name: text, limit: MOST_FOUND } };
      const [{ documents }, { entities }] = await Promise.all([
        take(
          api.GET("/api/v1/workspaces/{workspace}/documents", {
            params: { ...params, query: { ...params.query, state: "ready" } },
            signal,
          }),
        ),
        take(api.GET("/api/v1/workspaces/{workspace}/entities", { params, signal })),
      ]);
      return [
        ...documents.map(({ id, title, uri }): Command => {
          const run = () => go(linkTo("documents", { doc: id }));
          return {
            id: `document-${id}`,
            label: title || uri,
            hint: t.value.palette.document,
            icon: "documents",
            run,
          };
        }),
        ...entities.map(({ id, name, type }): Command => {
          const run = () => go(linkTo("graph", { focus: id }));
          return { id: `entity-${id}`, label: name, hint: type, icon: "graph", run };
        }),
      ];
    },
    { keepsOld: true },
  );
  return text.length > 1 ? (found.data ?? NONE) : NONE;
}
