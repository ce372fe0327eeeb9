import { useEffect } from "preact/hooks";
import { asked, go, linkTo, workspace } from "../../state/location";
import "./documents.css";
import { DocumentView } from "./DocumentView";

/** The document that the address names; without one, the files of the library. */
export default function DocumentsPage() {
  const document = asked("doc");
  const name = asked("name");
  useEffect(() => {
    if (!document) go(linkTo("library", { name }), { replace: true });
  }, [document, name]);
  return document ? <DocumentView key={`${workspace.value}/${document}`} id={document} /> : null;
}
