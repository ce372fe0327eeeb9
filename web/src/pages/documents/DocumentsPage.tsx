import { asked, workspace } from "../../state/location";
import { DocumentList } from "./DocumentList";
import "./documents.css";
import { DocumentView } from "./DocumentView";

/** All documents, or the one that the address names. */
export default function DocumentsPage() {
  const document = asked("doc");
  return document ? (
    <DocumentView key={`${workspace.value}/${document}`} id={document} />
  ) : (
    <DocumentList />
  );
}
