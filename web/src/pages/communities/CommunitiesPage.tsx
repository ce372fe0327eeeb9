import { Empty } from "../../components/Empty";
import { t } from "../../i18n";

export default function CommunitiesPage() {
  return <Empty icon="communities" title={t.value.pages.communities} />;
}
