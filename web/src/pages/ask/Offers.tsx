import type { Shapes } from "../../api/client";
import { Button } from "../../components/Button";

interface OffersProps {
  label: string;
  questions: readonly Shapes["OfferedQuestionShape"][];
  onAsk: (text: string) => void;
}

const MOST = 4;

/** Questions that can be asked with a click. */
export function Offers({ label, questions, onAsk }: OffersProps) {
  if (questions.length === 0) return null;
  return (
    <ul class="related stack tight" aria-label={label}>
      {questions.slice(0, MOST).map(({ question }) => (
        <li key={question}>
          <Button label={question} kind="quiet" icon="further" onClick={() => onAsk(question)} />
        </li>
      ))}
    </ul>
  );
}
