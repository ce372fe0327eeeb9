/** Tables and code within a text, which scroll by themselves. */

import type { ComponentChildren } from "preact";
import { t } from "../i18n";
import { TableBox } from "./TableBox";

interface TextTableProps<Cell> {
  /** Without cells, there is no head. */
  header: readonly Cell[];
  rows: readonly (readonly Cell[])[];
  cell: (cell: Cell) => ComponentChildren;
  class?: string;
}

export function TextTable<Cell>({ header, rows, cell, class: kind = "" }: TextTableProps<Cell>) {
  return (
    <TableBox isInText label={t("Table")} class={kind}>
      <table>
        {header.length > 0 && (
          <thead>
            <tr>
              {header.map((each, at) => (
                <th key={at} scope="col">
                  {cell(each)}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((each, at) => (
                <td key={at}>{cell(each)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

interface TextCodeProps {
  language?: string;
  children: ComponentChildren;
}

export function TextCode({ language, children }: TextCodeProps) {
  return (
    <TableBox isInText label={t("Code")} class="code-box">
      <pre data-language={language || undefined}>
        <code>{children}</code>
      </pre>
    </TableBox>
  );
}
