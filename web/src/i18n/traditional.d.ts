/** Words in traditional characters, made of the simplified ones by the build: `traditional.ts`. */

declare module "*.ts?traditional" {
  export const zh: import("./index").Messages;
}

declare module "*.json?traditional" {
  const catalogue: Readonly<Record<string, string>>;
  export default catalogue;
}
