export { nameOf } from "../../components/reader/document";
