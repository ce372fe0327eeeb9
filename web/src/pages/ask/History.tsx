import { Button, IconButton } from "../../components/Button";
import { Menu } from "../../components/Menu";
import { moment, t } from "../../i18n";
import { asked, go, linkTo } from "../../state/location";
import { forgetThreads, listThreads } from "./threads";

/** The threads of before; each can be opened and deleted. */
export function History({ workspace }: { workspace: string }) {
  const words = t.value.ask;
  const forget = (id?: string) => {
    forgetThreads(workspace, id);
    if (!id || id === asked("thread")) go(linkTo("ask", { thread: "new" }), { replace: true });
  };
  return (
    <Menu
      label={words.history}
      icon="history"
      side="right"
      content={(close) => {
        const threads = listThreads(workspace);
        return (
          <div class="history">
            <div class="row between">
              <h2>{words.history}</h2>
              {threads.length > 0 && (
                <Button kind="quiet" onClick={() => forget()}>
                  {words.forgetAll}
                </Button>
              )}
            </div>
            <p class="small faint">{threads.length > 0 ? words.historyNote : words.noHistory}</p>
            <ul>
              {threads.map(({ id, title, turns, updated }) => (
                <li key={id}>
                  <a href={linkTo("ask", { thread: id })} onClick={close}>
                    <span class="history-text cut">{title}</span>
                    <span class="small faint">
                      {words.turns(turns.length)} · {moment(updated)}
                    </span>
                  </a>
                  <IconButton icon="close" label={words.forget(title)} onClick={() => forget(id)} />
                </li>
              ))}
            </ul>
          </div>
        );
      }}
    />
  );
}
