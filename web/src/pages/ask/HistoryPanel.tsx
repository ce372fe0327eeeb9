import { Button, IconButton } from "../../components/Button";
import { Icon } from "../../components/Icon";
import { moment, t } from "../../i18n";
import { linkTo } from "../../state/location";
import { forget, historyTurn, readHistory } from "./history";
import { keyOf, type Question } from "./runs";

/** Questions of before; each can be forgotten. */
export function HistoryPanel({ workspace }: { workspace: string }) {
  const words = t.value.ask;
  // Read, so that a change redraws the list.
  void historyTurn.value;
  const entries = readHistory(workspace);
  if (entries.length === 0) return null;
  return (
    <section class="history" aria-labelledby="history-title">
      <div class="row between">
        <h2 id="history-title">{words.history}</h2>
        <Button kind="quiet" onClick={() => forget(workspace)}>
          {words.forgetAll}
        </Button>
      </div>
      <p class="small faint">{words.historyNote}</p>
      <ul>
        {entries.map(({ question, answer, at }) => (
          <li key={keyOf(question)}>
            <a href={linkTo("ask", queryOf(question))}>
              <span class="history-text">{question.text}</span>
              <span class="small faint row">
                {!answer.answered && <Icon name="none" size={12} />}
                {question.after && <Icon name="further" size={12} />}
                {[question.retriever, question.filter, moment(at)].filter(Boolean).join(" · ")}
              </span>
            </a>
            <IconButton
              icon="close"
              label={words.forget(question.text)}
              onClick={() => forget(workspace, question)}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Return what an address says of a question. */
export function queryOf(question: Omit<Question, "workspace">) {
  return {
    q: question.text,
    r: question.retriever,
    mode: question.mode === "auto" ? "" : question.mode,
    model: question.usesModel ? "" : "off",
    after: question.after,
    where: question.filter,
  };
}
