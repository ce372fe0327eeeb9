import { Button, IconButton } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { Menu } from "../../components/Menu";
import { Skeleton } from "../../components/Progress";
import { moment, t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { asked, go, linkTo } from "../../state/location";
import { forgetThreads, listThreads, threadsTurn } from "./threads";

/** The threads of before; each can be opened and deleted. */
export function History({ workspace }: { workspace: string }) {
  return (
    <Menu
      label={t.value.ask.history}
      icon="history"
      side="right"
      content={(close) => <Threads workspace={workspace} onOpen={close} />}
    />
  );
}

function Threads({ workspace, onOpen }: { workspace: string; onOpen: () => void }) {
  const words = t.value.ask;
  const { data, error, reload } = useLoaded(
    `${workspace} ${threadsTurn.value}`,
    (signal) => listThreads(workspace, signal),
    { keepsOld: true },
  );
  const forget = async (id?: string) => {
    await forgetThreads(workspace, id);
    if (!id || id === asked("thread")) go(linkTo("ask", { thread: "new" }), { replace: true });
  };
  const threads = data ?? [];
  return (
    <div class="history stack tight">
      <div class="row between">
        <h2>{words.history}</h2>
        {threads.length > 0 && (
          <Button kind="quiet" onClick={() => forget()}>
            {words.forgetAll}
          </Button>
        )}
      </div>
      {error && <ErrorState error={error} retry={reload} />}
      {!data && !error && <Skeleton label={t.value.common.loading} />}
      {data && (
        <p class="small faint">{threads.length > 0 ? words.historyNote : words.noHistory}</p>
      )}
      <ul>
        {threads.map(({ id, title, turns, updated }) => (
          <li key={id}>
            <a href={linkTo("ask", { thread: id })} onClick={onOpen}>
              <span class="cut">{title}</span>
              <span class="small faint">
                {words.turns(turns)} · {moment(updated)}
              </span>
            </a>
            <IconButton icon="close" label={words.forget(title)} onClick={() => forget(id)} />
          </li>
        ))}
      </ul>
    </div>
  );
}
