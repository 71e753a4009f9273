import { lexer, type Token, type Tokens } from 'marked'
import { Fragment, memo, type ReactNode, useMemo } from 'react'
import { citedText } from './cited-text.tsx'
import { CodeBlock } from './code-block.tsx'
import { splitMarkdown } from './split-markdown.ts'

/**
 * Markdown as elements, never as HTML: what a model or a tool wrote can become a heading or a link and nothing else. HTML in it
 * is shown as it is written; pictures are links, for nothing is loaded from elsewhere (SEC-7).
 */
export function Markdown({ text }: { text: string }) {
  const parts = useMemo(() => splitMarkdown(text), [text])
  return (
    <div className="prose">
      {parts.map((part, index) =>
        part.isPlain ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name, and only grow at the end.
          <p key={index} className="whitespace-pre-wrap">
            {part.text}
          </p>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name, and only grow at the end.
          <Parsed key={index} text={part.text} />
        ),
      )}
    </div>
  )
}

const Parsed = memo(function Parsed({ text }: { text: string }) {
  const tokens = useMemo(() => lexer(text, { gfm: true }), [text])
  // While a text grows, only its last block changes: the others are drawn once.
  // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no other name, and only grow at the end.
  return tokens.map((token, index) => <Block key={index} token={token} raw={token.raw} />)
})

const Block = memo(
  function Block({ token }: { token: Token; raw: string }) {
    return <>{block(token)}</>
  },
  (before, after) => before.raw === after.raw && before.token.type === after.token.type,
)

function block(token: Token): ReactNode {
  switch (token.type) {
    case 'heading':
      return heading(token as Tokens.Heading)
    case 'paragraph':
      return <p>{inline(token.tokens)}</p>
    case 'code':
      return <CodeBlock code={(token as Tokens.Code).text} language={(token as Tokens.Code).lang} />
    case 'blockquote':
      return <blockquote>{blocks(token.tokens)}</blockquote>
    case 'list':
      return list(token as Tokens.List)
    case 'table':
      return table(token as Tokens.Table)
    case 'hr':
      return <hr />
    case 'space':
    case 'def':
      return null
    case 'text':
      return token.tokens ? inline(token.tokens) : (token as Tokens.Text).text
    default:
      return <p>{token.raw}</p>
  }
}

function blocks(tokens: readonly Token[] | undefined): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no other name.
  return tokens?.map((token, index) => <Fragment key={index}>{block(token)}</Fragment>)
}

function heading({ depth, tokens }: Tokens.Heading): ReactNode {
  // The page has the first level for itself.
  const Level = `h${Math.min(depth + 1, 6)}` as 'h2'
  return <Level>{inline(tokens)}</Level>
}

function list({ ordered, start, items }: Tokens.List): ReactNode {
  const children = items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: items have no other name.
    <li key={index}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} readOnly aria-label="Done" />}
      {blocks(item.tokens)}
    </li>
  ))
  return ordered ? <ol start={typeof start === 'number' ? start : 1}>{children}</ol> : <ul>{children}</ul>
}

function table({ header, rows }: Tokens.Table): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <table tabIndex={0}>
      <thead>
        <tr>
          {header.map((cell, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other name.
            <th key={index} scope="col">
              {inline(cell.tokens)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name.
          <tr key={index}>
            {row.map((cell, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other name.
              <td key={column}>{inline(cell.tokens)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function inline(tokens: readonly Token[] | undefined): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a line have no other name.
  return tokens?.map((token, index) => <Fragment key={index}>{piece(token)}</Fragment>)
}

function piece(token: Token): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens)}</strong>
    case 'em':
      return <em>{inline(token.tokens)}</em>
    case 'del':
      return <del>{inline(token.tokens)}</del>
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>
    case 'br':
      return <br />
    case 'link':
      return <OutsideLink href={(token as Tokens.Link).href} text={(token as Tokens.Link).text} />
    case 'image':
      return <OutsideLink href={(token as Tokens.Image).href} text={(token as Tokens.Image).text || 'picture'} />
    case 'escape':
      return (token as Tokens.Escape).text
    case 'text':
      return (token as Tokens.Text).tokens
        ? inline((token as Tokens.Text).tokens)
        : citedText((token as Tokens.Text).text)
    default:
      return citedText(token.raw)
  }
}

/** A link says where it leads before it is followed. */
export function OutsideLink({ href, text }: { href: string; text: string }) {
  const url = URL.canParse(href) ? new URL(href) : undefined
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (!url || !(isWeb || url.protocol === 'mailto:')) return <>{text}</>
  const place = isWeb ? url.host : decodeURIComponent(url.pathname)
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer">
      {text}
      {!text.includes(place) && ` (${place})`}
    </a>
  )
}
