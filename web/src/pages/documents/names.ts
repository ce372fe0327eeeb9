/** Return the last part of a uri: the name of the file. */
export function nameOf(uri: string): string {
  return uri.split("/").at(-1) || uri;
}
