import { Empty } from "../../components/Empty";
import { t } from "../../i18n";

export default function GraphPage() {
  return <Empty icon="graph" title={t.value.pages.graph} />;
}
