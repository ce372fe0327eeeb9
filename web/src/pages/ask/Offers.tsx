import { errorOf, send } from "../../api/client";
import { Button } from "../../components/Button";

/** A question that was tried: the documents answer it. */
export interface OfferedQuestion {
  question: string;
}

interface OffersProps {
  label: string;
  questions: readonly OfferedQuestion[];
  onAsk: (text: string) => void;
}

const MOST = 4;

/** Questions that can be asked with a click. */
export function Offers({ label, questions, onAsk }: OffersProps) {
  if (questions.length === 0) return null;
  return (
    <ul class="related" aria-label={label}>
      {questions.slice(0, MOST).map(({ question }) => (
        <li key={question}>
          <Button kind="quiet" icon="further" onClick={() => onAsk(question)}>
            {question}
          </Button>
        </li>
      ))}
    </ul>
  );
}

/** Ask a route of a workspace for what it offers. Throws ApiError. */
export async function request<T>(
  workspace: string,
  route: string,
  { body, signal }: { body?: object; signal: AbortSignal },
): Promise<T> {
  const sent = body && {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  const address = `/api/v1/workspaces/${encodeURIComponent(workspace)}/${route}`;
  const response = await send(new Request(address, { ...sent, signal }));
  const reply: unknown = await response.json().catch(() => null);
  if (!response.ok) throw errorOf(response, reply);
  return (reply as { data: T }).data;
}
