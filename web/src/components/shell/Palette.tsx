import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { t } from "../../i18n";
import { addressOf, go, linkTo, PAGES, workspace } from "../../state/location";
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

/** Everything by name: pages, workspaces, things of the graph, documents, and a question. */
export function Palette({ onClose, openHelp }: { onClose: () => void; openHelp: () => void }) {
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
    const fixed = listCommands(openHelp).filter(
      ({ label, hint }) => !wanted || `${label} ${hint}`.toLowerCase().includes(wanted),
    );
    return wanted ? [...fixed, ...found, askCommand(text.trim())] : fixed;
  }, [text, found, openHelp]);
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

function listCommands(openHelp: () => void): Command[] {
  const { palette, pages, shell } = t.value;
  const here = workspace.value;
  const steps: Command[] = here
    ? PAGES.map((name) => ({
        id: `page-${name}`,
        label: pages[name],
        hint: palette.page,
        icon: name,
        run: () => go(linkTo(name)),
      }))
    : [];
  for (const { name } of workspaces.value ?? []) {
    if (name === here) continue;
    const run = () => go(addressOf(name, "library"));
    steps.push({
      id: `workspace-${name}`,
      label: name,
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
    { id: "help", label: shell.keys, hint: "?", icon: "keyboard", run: openHelp },
  );
  return steps;
}

/** Return the things of the graph that a text may mean. */
function useFound(text: string): Command[] {
  const [found, setFound] = useState<Command[]>([]);
  useEffect(() => {
    if (text.length < 2 || !workspace.value) {
      setFound([]);
      return;
    }
    const abort = new AbortController();
    const timer = setTimeout(() => {
      const params = {
        path: { workspace: workspace.value },
        query: { name: text, limit: MOST_FOUND },
      };
      const call = api.GET("/api/v1/workspaces/{workspace}/entities", {
        params,
        signal: abort.signal,
      });
      take(call).then(
        ({ entities }) =>
          setFound(
            entities.map(({ id, name, type }) => ({
              id: `entity-${id}`,
              label: name,
              hint: type,
              icon: "graph",
              run: () => go(linkTo("graph", { focus: id })),
            })),
          ),
        () => undefined, // what cannot be looked up is not offered
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return found;
}
