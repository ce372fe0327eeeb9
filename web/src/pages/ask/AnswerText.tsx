import type { Token, Tokens } from "marked";
import { createContext } from "preact";
import { memo } from "preact/compat";
import { useContext, useMemo } from "preact/hooks";
import { ScrollBox } from "../../components/ScrollBox";
import { t } from "../../i18n";
import { Chip, FactChip } from "./Chip";
import type { StatedFact } from "./facts";
import { cutAtMarks, findUncited, readBlock, splitBlocks } from "./markdown";
import type { Citation } from "./runs";

interface Marks {
  citations: ReadonlyMap<number, Citation>;
  /** The remembered facts that the text cites as [M1]. */
  facts: readonly StatedFact[];
  /** The citation that is open. */
  open: number;
  onOpen: (number: number) => void;
  /** Whether the text is whole: what is not cited yet may still be. */
  isWhole: boolean;
}

const NONE: Marks = {
  citations: new Map(),
  facts: [],
  open: 0,
  onOpen: () => undefined,
  isWhole: true,
};
const MarksOf = createContext(NONE);

interface AnswerTextProps extends Partial<Marks> {
  text: string;
  /** Whether it consists of pieces of documents: only a model writes in italics. */
  isQuoted?: boolean;
}

/** The text of an answer, with its citations as buttons. Nothing in it is ever taken for HTML. */
export function AnswerText(props: AnswerTextProps) {
  const { text, isQuoted = false, citations = NONE.citations, facts = NONE.facts } = props;
  const { open = 0, onOpen = NONE.onOpen, isWhole = true } = props;
  const blocks = useMemo(() => splitBlocks(text), [text]);
  const marks = useMemo(
    () => ({ citations, facts, open, onOpen, isWhole }),
    [citations, facts, open, onOpen, isWhole],
  );
  return (
    <MarksOf.Provider value={marks}>
      <div class="answer-text">
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
  switch (token.type) {
    case "space":
      return null;
    case "heading":
      return (
        <p class="answer-heading">
          <Inline tokens={token.tokens ?? []} />
        </p>
      );
    case "paragraph":
      return (
        <p>
          <Inline tokens={token.tokens ?? []} endsBlock />
        </p>
      );
    case "text":
      return <Inline tokens={token.tokens ?? [token]} endsBlock />;
    case "list":
      return <List list={token as Tokens.List} />;
    case "blockquote":
      return (
        <blockquote>
          <Blocks tokens={token.tokens ?? []} />
        </blockquote>
      );
    case "code":
      return (
        <ScrollBox label={t.value.reader.code} class="code-box">
          <pre>
            <code>{(token as Tokens.Code).text}</code>
          </pre>
        </ScrollBox>
      );
    case "table":
      return <Table table={token as Tokens.Table} />;
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

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, index) => (
    <li key={index}>
      <Blocks tokens={item.tokens} />
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { table: Tokens.Table }) {
  return (
    <ScrollBox label={t.value.reader.table}>
      <table>
        {table.header.some(({ text }) => text) && (
          <thead>
            <tr>
              {table.header.map((cell, index) => (
                <th key={index} scope="col">
                  <Inline tokens={cell.tokens} />
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td key={at}>
                  <Inline tokens={cell.tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
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
  const within = "tokens" in token && token.tokens ? <Inline tokens={token.tokens} /> : null;
  switch (token.type) {
    case "strong":
      return <strong>{within}</strong>;
    case "em":
      return <em>{within}</em>;
    case "del":
      return <del>{within}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
      // An address in an answer is a text like any other: a page of ours leads nowhere else.
      return within;
    case "escape":
      return <Plain text={(token as Tokens.Escape).text} />;
    case "text":
      return within ?? <Plain text={(token as Tokens.Text).text} isLast={isLast} />;
    default:
      return <Plain text={token.raw} />;
  }
}

function Plain({ text, isLast = false }: { text: string; isLast?: boolean }) {
  const { citations, facts, open, onOpen, isWhole } = useContext(MarksOf);
  // While a text comes, what its marks lead to is not known yet.
  const cited = new Set(facts.map(({ number }) => number));
  const pieces = cutAtMarks(text, isWhole ? new Set(citations.keys()) : "all", cited);
  const uncited = isWhole && isLast ? findUncited(pieces) : new Set();
  return (
    <>
      {pieces.map((piece, index) => {
        if (piece.kind === "text") {
          if (!uncited.has(piece)) return piece.text;
          return (
            <span key={index} class="uncited" title={t.value.ask.uncited}>
              {piece.text}
            </span>
          );
        }
        const fact =
          piece.kind === "fact" ? facts.find(({ number }) => number === piece.number) : undefined;
        if (fact) return <FactChip key={index} fact={fact} />;
        const citation = piece.kind === "mark" ? citations.get(piece.number) : undefined;
        if (!citation) {
          return (
            <span key={index} class="chip pending">
              {piece.kind === "fact" ? `M${piece.number}` : piece.number}
            </span>
          );
        }
        return (
          <Chip
            key={index}
            citation={citation}
            isOpen={open === piece.number}
            onOpen={() => onOpen(piece.number)}
          />
        );
      })}
    </>
  );
}
