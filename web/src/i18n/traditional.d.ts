/** Texts in traditional characters, made of the simplified ones by the build: `traditional.ts`. */

declare module "*.json?traditional" {
  const catalogue: Record<"pages" | "server", Readonly<Record<string, string>>>;
  export default catalogue;
}
