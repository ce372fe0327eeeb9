import { IconButton } from "../../components/Button";
import { plainText } from "../../components/plain";
import { t } from "../../i18n";
import { linkTo, setQuery } from "../../state/location";
import { queryOf } from "./HistoryPanel";
import { historyTurn, turnsBefore } from "./history";
import type { Wanted } from "./QuestionBox";

interface BeforeProps {
  workspace: string;
  wanted: Wanted;
}

/** What a question goes on from: the turns before it, the last one last. */
export function Before({ workspace, wanted }: BeforeProps) {
  const words = t.value.ask;
  // Read, so that a change redraws the turns.
  void historyTurn.value;
  if (!wanted.after) return null;
  const turns = turnsBefore({ ...wanted, workspace });
  return (
    <section class="before card" aria-label={words.before}>
      <ol>
        {turns.map(({ question, answer }, number) => (
          <li key={question}>
            <a
              href={linkTo("ask", {
                ...queryOf(wanted),
                q: question,
                after: turns[number - 1]?.question ?? "",
              })}
            >
              {question}
            </a>
            <p class="small muted before-answer">{plainText(answer) || words.unknown}</p>
          </li>
        ))}
        {turns.length === 0 && (
          <li>
            {wanted.after} <span class="small muted">{words.beforeForgotten}</span>
          </li>
        )}
      </ol>
      <IconButton icon="close" label={words.leave} onClick={() => setQuery({ after: null })} />
    </section>
  );
}
