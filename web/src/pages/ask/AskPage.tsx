import { Empty } from "../../components/Empty";
import { t } from "../../i18n";

export default function AskPage() {
  return <Empty icon="ask" title={t.value.pages.ask} />;
}
