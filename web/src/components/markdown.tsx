import type { Token, Tokens } from 'marked'
import { createContext, Fragment, memo, type ReactNode, useContext, useId, useMemo, useState } from 'react'
import { openPreview } from '../preview/preview.tsx'
import { Link } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { CodeBlock, CodePart, Diagram, Formula, HeaderButton, linePieces } from './code.tsx'
import { CopyButton } from './controls.tsx'
import { RawOnError } from './feedback.tsx'
import {
  type FootnoteMark,
  type FootnoteText,
  isClosed,
  isLongTable,
  lexMarkdown,
  type MathToken,
  numberFootnotes,
  splitMarkdown,
  textOfTokens,
} from './markdown-source.ts'

const citation = /\[memory:([0-9a-f-]{8,40})\]/g

/** Text with its citations as links to the memories that they name, so that every claim can be looked up. */
function citedText(text: string): ReactNode {
  if (!text.includes('[memory:')) return text
  const parts: ReactNode[] = []
  let end = 0
  for (const match of text.matchAll(citation)) {
    parts.push(text.slice(end, match.index).trimEnd())
    parts.push(<Citation key={match.index} id={match[1] ?? ''} />)
    end = match.index + match[0].length
  }
  return [...parts, text.slice(end)]
}

/** The message whose text is drawn: its `@path` open the file. */
export const MentionContext = createContext<{ sessionId: string; messageId: string } | undefined>(undefined)

const mention = /(?<=^|[\s([{<,;:>])@@?(?:"[^"\n]{1,300}"|[^\s"`<>|,;@]{1,300}?(?=[.,;:!?…)\]}]*(?:[\s,;]|$)))/g

/** Text of a user with the files and blocks that it names. */
function Mentions({ text }: { text: string }) {
  const message = useContext(MentionContext)
  if (!message) return <>{citedText(text)}</>
  const parts: ReactNode[] = []
  let end = 0
  for (const { 0: name, index } of text.matchAll(mention)) {
    parts.push(citedText(text.slice(end, index)))
    parts.push(
      <button
        key={index}
        type="button"
        aria-label={t.preview.openFile(name)}
        className="text-start text-accent underline underline-offset-2"
        onClick={() => openPreview({ from: 'mention', ...message, name })}
      >
        {name}
      </button>,
    )
    end = index + name.length
  }
  return (
    <>
      {parts}
      {citedText(text.slice(end))}
    </>
  )
}

const words = (text: string): ReactNode => (text.includes('@') ? <Mentions text={text} /> : citedText(text))

function Citation({ id }: { id: string }) {
  return (
    <Link
      href={`/memory/${id}`}
      title={t.common.showSource}
      aria-label={t.common.showSource}
      className="mx-0.5 inline-block rounded bg-accent-soft px-1 align-super text-[0.65em] leading-tight no-underline"
    >
      {t.common.citation}
    </Link>
  )
}

interface OutsideLinkProps {
  href: string
  /** The words of the link, without marks. */
  text: string
  /** How the words are shown; the words themselves where absent. */
  children?: ReactNode
}

/**
 * A link that shows its real host unless its text is exactly its own address: a text that contains the host may still start with
 * another address.
 */
export function OutsideLink({ href, text, children = text }: OutsideLinkProps) {
  const url = URL.canParse(href) ? new URL(href) : undefined
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (!url || !(isWeb || url.protocol === 'mailto:')) return <>{children}</>
  const place = isWeb ? url.host : mailbox(url)
  return (
    <>
      <a href={url.href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
      {!namesOnly(text.trim(), url, place) && (
        <>
          {' '}
          {/* By itself, so that text from right to left before it does not turn it around. */}
          <bdi className="link-host">({place})</bdi>
        </>
      )}
    </>
  )
}

/** `%E0%A4%A` is a valid part of an address and no valid text. */
function mailbox({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return pathname
  }
}

function namesOnly(text: string, url: URL, place: string): boolean {
  if (url.username !== '' || url.password !== '') return false
  // Letters of other alphabets look like Latin ones.
  if (!/^[\x21-\x7e]+$/.test(text)) return false
  if (text === place || text === url.href) return true
  const named = /^(?:https?:\/\/|mailto:)/i.test(text) ? text : `${url.protocol}//${text}`
  return URL.canParse(named) && new URL(named).href === url.href
}

interface MarkdownProps {
  text: string
  /** More of it is on its way: its last block is neither colored nor drawn yet. */
  isGrowing?: boolean
}

/**
 * Markdown as elements, never as HTML: what a model or a tool wrote can become a heading or a link and nothing else. HTML in it
 * is shown as it is written; pictures are links, for nothing is loaded from elsewhere (SEC-7).
 */
export function Markdown({ text, isGrowing = false }: MarkdownProps) {
  return (
    <RawOnError raw={text}>
      <Parts text={text} isGrowing={isGrowing} />
    </RawOnError>
  )
}

interface Footnotes {
  /** Makes the ids of one text differ from those of another. */
  id: string
  numbers: ReadonlyMap<string, number>
}

const FootnotesContext = createContext<Footnotes>({ id: '', numbers: new Map() })

/** The same object while the numbers are the same, so that what did not change is not drawn again. */
function useFootnotes(text: string): Footnotes {
  const id = useId()
  const numbers = useMemo(() => numberFootnotes(text), [text])
  const key = numbers.size === 0 ? '' : [...numbers.keys()].join(' ')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all of the numbers.
  return useMemo(() => ({ id, numbers }), [id, key])
}

/** A link within the message. The address of the page stays as it is. */
function Jump(props: { id: string; to: string; label: string; className: string; children: ReactNode }) {
  const { id, to, label, className, children } = props
  return (
    <a
      id={id}
      href={`#${to}`}
      aria-label={label}
      className={className}
      onClick={(event) => {
        event.preventDefault()
        const target = document.getElementById(to)
        target?.scrollIntoView({ block: 'nearest' })
        target?.focus({ preventScroll: true })
      }}
    >
      {children}
    </a>
  )
}

/** A mark without a text is shown as it is written. */
function FootnoteLink({ label, raw }: FootnoteMark) {
  const { id, numbers } = useContext(FootnotesContext)
  const number = numbers.get(label)
  if (number === undefined) return <>{raw}</>
  return (
    <sup>
      <Jump
        id={`${id}mark-${number}`}
        to={`${id}note-${number}`}
        label={t.preview.footnote(number)}
        className="px-0.5 no-underline!"
      >
        {number}
      </Jump>
    </sup>
  )
}

function Footnote({ label, tokens, raw }: FootnoteText) {
  const { id, numbers } = useContext(FootnotesContext)
  const number = numbers.get(label)
  if (number === undefined) return <p>{raw}</p>
  return (
    <div className="footnote">
      <Jump
        id={`${id}note-${number}`}
        to={`${id}mark-${number}`}
        label={t.preview.backToText}
        className="no-underline!"
      >
        {number}.
      </Jump>
      <div className="min-w-0 flex-1">{blocks(tokens, false)}</div>
    </div>
  )
}

function Parts({ text, isGrowing }: Required<MarkdownProps>) {
  const parts = useMemo(() => splitMarkdown(text), [text])
  const footnotes = useFootnotes(text)
  return (
    <FootnotesContext value={footnotes}>
      <PartList parts={parts} isGrowing={isGrowing} />
    </FootnotesContext>
  )
}

/** With more of them, the browser skips those that are out of sight. */
const maxDrawnParts = 8

function PartList({ parts, isGrowing }: { parts: ReturnType<typeof splitMarkdown>; isGrowing: boolean }) {
  const isLong = parts.length > maxDrawnParts
  return (
    <div className="prose" dir="auto">
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name, and only grow at the end.
        <Part key={index} {...part} isLong={isLong} isGrowing={isGrowing && index === parts.length - 1} />
      ))}
    </div>
  )
}

interface PartProps {
  text: string
  isPlain: boolean
  isGrowing: boolean
  isLong: boolean
}

const Part = memo(function Part({ text, isPlain, isGrowing, isLong }: PartProps) {
  if (isPlain) return <PlainText text={text} />
  const content = isLongTable(text) ? <LongTable text={text} /> : <Parsed text={text} isGrowing={isGrowing} />
  if (!isLong) return content
  return (
    // About as high as its text: the scrollbar moves less when it is drawn.
    <div className="part" style={{ containIntrinsicBlockSize: `auto ${Math.round(text.length * 0.4)}px` }}>
      {content}
    </div>
  )
})

/** Text that no person wrote, in pieces that grow at the end. */
function PlainText({ text }: { text: string }) {
  return (
    <p className="whitespace-pre-wrap">
      {linePieces(text).map((piece, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces only grow at the end.
        <CodePart key={at} text={piece} />
      ))}
    </p>
  )
}

const Parsed = memo(function Parsed({ text, isGrowing }: Required<MarkdownProps>) {
  const tokens = useMemo(() => lexMarkdown(text), [text])
  // While a text grows, only its last block changes: the others are drawn once.
  return tokens.map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no other name, and only grow at the end.
    <Block key={index} token={token} isGrowing={isGrowing && index === tokens.length - 1} />
  ))
})

const Block = memo(
  function Block({ token, isGrowing }: { token: Token; isGrowing: boolean }) {
    return <>{block(token, isGrowing)}</>
  },
  (before, after) =>
    before.token.raw === after.token.raw &&
    before.token.type === after.token.type &&
    before.isGrowing === after.isGrowing,
)

function block(token: Token, isGrowing: boolean): ReactNode {
  switch (token.type) {
    case 'heading':
      return heading(token as Tokens.Heading)
    case 'paragraph':
      return <p>{inline(token.tokens)}</p>
    case 'code':
      return code(token as Tokens.Code, isGrowing)
    case 'math':
      return <Formula tex={(token as MathToken).tex} isDisplay />
    case 'blockquote':
      return <blockquote>{blocks(token.tokens, isGrowing)}</blockquote>
    case 'list':
      return list(token as Tokens.List, isGrowing)
    case 'table':
      return <Table token={token as Tokens.Table} />
    case 'footnote_text':
      return <Footnote {...(token as FootnoteText)} />
    case 'hr':
      return <hr />
    case 'checkbox':
      return checkbox(token as Tokens.Checkbox)
    case 'space':
    case 'def':
      return null
    case 'text':
      return token.tokens ? inline(token.tokens) : (token as Tokens.Text).text
    default:
      return <p>{token.raw}</p>
  }
}

function blocks(tokens: readonly Token[] | undefined, isGrowing: boolean): ReactNode {
  return tokens?.map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no other name.
    <Fragment key={index}>{block(token, isGrowing && index === tokens.length - 1)}</Fragment>
  ))
}

function code(token: Tokens.Code, isGrowing: boolean): ReactNode {
  const isOpen = isGrowing && !isClosed(token)
  if (token.lang?.trim().toLowerCase() === 'mermaid' && !isOpen) return <Diagram source={token.text} />
  return <CodeBlock code={token.text} language={token.lang} isGrowing={isOpen} />
}

function heading({ depth, tokens }: Tokens.Heading): ReactNode {
  // The page has the first level for itself.
  const Level = `h${Math.min(depth + 1, 6)}` as 'h2'
  return <Level>{inline(tokens)}</Level>
}

function list({ ordered, start, items }: Tokens.List, isGrowing: boolean): ReactNode {
  const children = items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: items have no other name.
    <li key={index} className={item.task ? 'task' : undefined}>
      {blocks(item.tokens, isGrowing && index === items.length - 1)}
    </li>
  ))
  return ordered ? <ol start={typeof start === 'number' ? start : 1}>{children}</ol> : <ul>{children}</ul>
}

/** Shows a state; nothing in a reply can be ticked off. */
function checkbox({ checked }: Tokens.Checkbox): ReactNode {
  return (
    <input
      type="checkbox"
      checked={checked}
      readOnly
      tabIndex={-1}
      aria-label={checked ? t.common.done : t.common.notDone}
    />
  )
}

function Table({ token }: { token: Tokens.Table }) {
  return (
    <div className="table-frame">
      {table(token)}
      <TableActions token={token} />
    </div>
  )
}

const maxRows = 200

/** A table of more rows than anyone reads in a message: the first ones, and the rest on request. */
function LongTable({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false)
  const lines = useMemo(() => text.trimEnd().split('\n'), [text])
  const shown = isWhole ? text : lines.slice(0, maxRows + 2).join('\n')
  const token = useMemo(() => lexMarkdown(shown)[0], [shown])
  const count = lines.length - 2
  if (token?.type !== 'table') return <PlainText text={text} />
  return (
    <div className="table-frame">
      {table(token as Tokens.Table)}
      <div className="flex flex-wrap items-center gap-x-3">
        <TableActions token={token as Tokens.Table} text={text} />
        {count > maxRows && !isWhole && (
          <button type="button" className="min-h-7 text-xs text-accent underline" onClick={() => setWhole(true)}>
            {t.preview.allRows(maxRows, count)}
          </button>
        )}
      </div>
    </div>
  )
}

/** Made when they are pressed: a table that grows changes with every word. */
function TableActions({ token, text }: { token: Tokens.Table; text?: string }) {
  const csv = async () => {
    const { writeCsv } = await import('./csv.ts')
    const { header, rows } = text === undefined ? token : (lexMarkdown(text)[0] as Tokens.Table)
    return writeCsv([header, ...rows].map((row) => row.map(({ tokens }) => textOfTokens(tokens))))
  }
  const save = async () => (await import('../preview/contents.ts')).saveFile('table.csv', await csv())
  const open = async () => openPreview({ from: 'code', code: await csv(), info: 'csv' })
  return (
    <div className="flex items-center text-soft">
      <CopyButton text={csv} label={t.preview.copyCsv} />
      <HeaderButton icon="download" label={t.preview.downloadCsv} onClick={() => void save()} />
      <HeaderButton icon="panel" label={t.preview.open} onClick={() => void open()} />
    </div>
  )
}

function table({ header, rows }: Tokens.Table): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <div className="table-box" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other name.
              <th key={index} scope="col" style={alignment(cell)}>
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
                <td key={column} style={alignment(cell)}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const alignment = ({ align }: Tokens.TableCell) => (align ? { textAlign: align } : undefined)

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
    case 'math':
      return <Formula tex={(token as MathToken).tex} isDisplay={(token as MathToken).isDisplay} />
    case 'footnote_mark':
      return <FootnoteLink {...(token as FootnoteMark)} />
    case 'br':
      return <br />
    case 'checkbox':
      return checkbox(token as Tokens.Checkbox)
    case 'link':
      return link(token as Tokens.Link)
    case 'image':
      return <OutsideLink href={(token as Tokens.Image).href} text={(token as Tokens.Image).text || t.common.picture} />
    case 'escape':
      return (token as Tokens.Escape).text
    case 'text':
      return (token as Tokens.Text).tokens ? inline((token as Tokens.Text).tokens) : words((token as Tokens.Text).text)
    default:
      return words(token.raw)
  }
}

/** No link within a link: what would be one there is shown as its words. */
function link({ href, tokens, text }: Tokens.Link): ReactNode {
  const words = textOfTokens(tokens) || text
  const isSimple = tokens.every(({ type }) => ['text', 'strong', 'em', 'del', 'codespan', 'escape'].includes(type))
  const isFlat = isSimple && !words.includes('[memory:') && !/!\[|<|https?:/.test(words)
  return (
    <OutsideLink href={href} text={words}>
      {isFlat ? inline(tokens) : words}
    </OutsideLink>
  )
}
