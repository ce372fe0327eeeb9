import { Empty } from "../../components/Empty";
import { t } from "../../i18n";

export default function DocumentsPage() {
  return <Empty icon="documents" title={t.value.pages.documents} />;
}
