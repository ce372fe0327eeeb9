import type { Token, Tokens } from "marked";
import { createContext, Fragment, type VNode } from "preact";
import { memo } from "preact/compat";
import { useContext, useMemo } from "preact/hooks";
import { TextCode, TextTable } from "../../components/prose";
import { t } from "../../i18n";
import { cutAtMarks, findUncited, readBlock, splitBlocks } from "./markdown";

/** What stands for the marks of a text, by name; null while it comes: any mark may be one. */
export type Marks = ReadonlyMap<string, () => VNode> | null;

const NONE: Marks = new Map();
const MarksOf = createContext<Marks>(NONE);

interface AnswerTextProps {
  text: string;
  /** Whether it consists of pieces of documents: only a model writes in italics. */
  isQuoted?: boolean;
  marks?: Marks;
}

/** The text of an answer, with what it cites as buttons. Nothing in it is ever taken for HTML. */
export function AnswerText({ text, isQuoted = false, marks = NONE }: AnswerTextProps) {
  const blocks = useMemo(() => splitBlocks(text), [text]);
  return (
    <MarksOf.Provider value={marks}>
      <div class="serif prose stack answer-text">
        {blocks.map((block, index) => (
          <Block key={index} text={block} isQuoted={isQuoted} />
        ))}
      </div>
    </MarksOf.Provider>
  );
}

/** A block is read again only when its text changes: of a text that comes, the last one alone. */
const Block = memo(({ text, isQuoted }: { text: string; isQuoted: boolean }) => {
  const tokens = useMemo(() => readBlock(text, { isQuoted }), [text, isQuoted]);
  return <Parts tokens={tokens} />;
});

interface PartsProps {
  tokens: readonly Token[];
  /** Whether a paragraph ends with the last of them: only there nothing can be cited later. */
  endsBlock?: boolean;
}

function Parts({ tokens, endsBlock = false }: PartsProps) {
  return (
    <>
      {tokens.map((token, index) => (
        <Part key={index} token={token} isLast={endsBlock && index === tokens.length - 1} />
      ))}
    </>
  );
}

/** What a token of Markdown is shown as, where that is no more than an element around its parts. */
const ELEMENTS: Readonly<Record<string, string>> = {
  ...{ strong: "strong", em: "em", del: "del", blockquote: "blockquote" },
  ...{ paragraph: "p", br: "br", hr: "hr" },
};

function Part({ token, isLast }: { token: Token; isLast: boolean }) {
  const { type, raw } = token;
  const { text = raw, tokens = [] } = token as Partial<Tokens.Text>;
  const endsBlock = type === "paragraph" || type === "text";
  const within = tokens.length > 0 && <Parts tokens={tokens} endsBlock={endsBlock} />;
  const Element = ELEMENTS[type] as "p" | undefined;
  if (Element) return <Element>{within}</Element>;
  switch (type) {
    case "space":
      return null;
    case "heading":
      return <p class="text-heading">{within}</p>;
    case "code":
      return <TextCode>{text}</TextCode>;
    case "codespan":
      return <code>{text}</code>;
    case "list": {
      const { ordered, start, items } = token as Tokens.List;
      const listed = items.map((item, index) => (
        <li key={index}>
          <Parts tokens={item.tokens} endsBlock />
        </li>
      ));
      return ordered ? <ol start={Number(start) || 1}>{listed}</ol> : <ul>{listed}</ul>;
    }
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return (
        <TextTable
          header={header.some((cell) => cell.text) ? header : []}
          rows={rows}
          cell={(cell) => <Parts tokens={cell.tokens} />}
        />
      );
    }
    default:
      // An address in an answer is a text like any other: a page of ours leads nowhere else.
      if (within) return within;
      return <Plain text={type === "text" || type === "escape" ? text : raw} isLast={isLast} />;
  }
}

function Plain({ text, isLast = false }: { text: string; isLast?: boolean }) {
  const marks = useContext(MarksOf);
  const pieces = cutAtMarks(text, (mark) => marks?.has(mark) ?? true);
  const uncited = marks && isLast ? findUncited(pieces) : undefined;
  return (
    <>
      {pieces.map((piece, index) => {
        if (piece === uncited) {
          return (
            <span key={index} class="uncited" title={t("No sources are cited.")}>
              {piece.text}
            </span>
          );
        }
        if (!piece.isMark) return piece.text;
        const mark = marks?.get(piece.text)?.();
        return (
          <Fragment key={index}>{mark ?? <span class="chip pending">{piece.text}</span>}</Fragment>
        );
      })}
    </>
  );
}
