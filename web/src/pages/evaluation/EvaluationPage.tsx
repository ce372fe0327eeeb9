import { Empty } from "../../components/Empty";
import { t } from "../../i18n";

export default function EvaluationPage() {
  return <Empty icon="evaluation" title={t.value.pages.evaluation} />;
}
