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
  return <Blocks tokens={tokens} />;
});

function Blocks({ tokens }: { tokens: readonly Token[] }) {
  return (
    <>
      {tokens.map((token, index) => (
        <BlockToken key={index} token={token} />
      ))}
    </>
  );
}

function BlockToken({ token }: { token: Token }) {
  const within = partsOf(token);
  switch (token.type) {
    case "space":
      return null;
    case "heading":
      return (
        <p class="answer-heading">
          <Inline tokens={within} />
        </p>
      );
    case "paragraph":
      return (
        <p>
          <Inline tokens={within} endsBlock />
        </p>
      );
    case "text":
      return <Inline tokens={within.length > 0 ? within : [token]} endsBlock />;
    case "list": {
      const { ordered, start, items } = token as Tokens.List;
      const listed = items.map(({ tokens }, index) => (
        <li key={index}>
          <Blocks tokens={tokens} />
        </li>
      ));
      return ordered ? <ol start={Number(start) || 1}>{listed}</ol> : <ul>{listed}</ul>;
    }
    case "blockquote":
      return (
        <blockquote>
          <Blocks tokens={within} />
        </blockquote>
      );
    case "code":
      return <TextCode>{(token as Tokens.Code).text}</TextCode>;
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return (
        <TextTable
          header={header.some(({ text }) => text) ? header : []}
          rows={rows}
          cell={({ tokens }) => <Inline tokens={tokens} />}
        />
      );
    }
    case "hr":
      return <hr />;
    default:
      return (
        <p>
          <Plain text={token.raw} isLast />
        </p>
      );
  }
}

function partsOf(token: Token): Token[] {
  return ("tokens" in token && token.tokens) || [];
}

interface InlineProps {
  tokens: readonly Token[];
  /** Whether a paragraph ends with the last of them: only there nothing can be cited later. */
  endsBlock?: boolean;
}

function Inline({ tokens, endsBlock = false }: InlineProps) {
  return (
    <>
      {tokens.map((token, index) => (
        <InlineToken key={index} token={token} isLast={endsBlock && index === tokens.length - 1} />
      ))}
    </>
  );
}

function InlineToken({ token, isLast }: { token: Token; isLast: boolean }) {
  const parts = partsOf(token);
  const within = parts.length > 0 && <Inline tokens={parts} />;
  switch (token.type) {
    case "strong":
    case "em":
    case "del": {
      const Style = token.type as "strong";
      return <Style>{within}</Style>;
    }
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
      // An address in an answer is a text like any other: a page of ours leads nowhere else.
      return <>{within}</>;
    case "escape":
    case "text":
      return within || <Plain text={(token as Tokens.Text).text} isLast={isLast} />;
    default:
      return <Plain text={token.raw} />;
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
            <span key={index} class="uncited" title={t.value.ask.uncited}>
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
