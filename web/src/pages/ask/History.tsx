import { Button, IconButton } from "../../components/Button";
import { Pending } from "../../components/ErrorState";
import { Menu } from "../../components/Menu";
import { moment, t } from "../../i18n";
import { useCall } from "../../state/calls";
import { asked, go, linkTo, workspace } from "../../state/location";
import { forgetThreads, threadsTurn } from "./threads";

/** The threads of before; each can be opened and deleted. */
export function History() {
  return (
    <Menu
      label={t("History")}
      icon="history"
      side="right"
      content={(close) => <Threads onOpen={close} />}
    />
  );
}

function Threads({ onOpen }: { onOpen: () => void }) {
  const turn = threadsTurn.value;
  const loaded = useCall("get", "/threads", {}, { turn, keepsOld: true });
  const threads = loaded.data?.threads ?? [];
  const forget = async (id?: string) => {
    await forgetThreads(workspace.value, id);
    if (!id || id === asked("thread")) go(linkTo("ask", { thread: "new" }), { replace: true });
  };
  return (
    <div class="history menu-body stack tight">
      <div class="row between">
        <h2>{t("History")}</h2>
        {threads.length > 0 && (
          <Button label={t("Clear history")} kind="quiet" onClick={() => forget()} />
        )}
      </div>
      <Pending of={loaded} />
      {loaded.data && (
        <p class="small faint">
          {threads.length > 0 ? t("Kept on the server for your key.") : t("No threads yet.")}
        </p>
      )}
      <ul class="ruled">
        {threads.map(({ id, title, turns, updated }) => (
          <li key={id} class="row top">
            <a class="name grow" href={linkTo("ask", { thread: id })} onClick={onOpen}>
              <span class="clamp">{title}</span>
              <span class="small faint">
                {t("{n} {n:question|questions}", { n: turns })} · {moment(updated)}
              </span>
            </a>
            <IconButton
              icon="close"
              label={t("Delete: {question}", { question: title })}
              onClick={() => forget(id)}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}
