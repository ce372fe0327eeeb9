import { Empty } from "../../components/Empty";
import { t } from "../../i18n";

export default function LibraryPage() {
  return <Empty icon="library" title={t.value.pages.library} />;
}
