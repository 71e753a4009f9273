import { lazy, type ReactNode, Suspense, useEffect, useMemo, useRef, useState } from 'react'
import { call } from '../api/call.ts'
import { CodeText, Diagram } from '../components/code.tsx'
import { classes } from '../components/controls.tsx'
import { readCsv, sortRows } from '../components/csv.ts'
import { Notice } from '../components/feedback.tsx'
import { Markdown } from '../components/markdown.tsx'
import { t } from '../strings/strings.ts'
import type { PreviewKind } from './contents.ts'

/** A document with its content. `bytes` and `text`: as far as they are known. */
export interface ShownDocument {
  kind: PreviewKind | 'binary'
  name: string
  language: string
  mediaType: string
  text: string | undefined
  bytes: Uint8Array<ArrayBuffer> | undefined
  /** Of a stored file: the daemon reads the text of documents. */
  stored?: { sessionId: string; hash: string }
}

/** Kinds that have a source beside their preview. */
const withSource = new Set<ShownDocument['kind']>(['html', 'svg', 'mermaid', 'markdown', 'table', 'pdf'])
export const hasSource = ({ kind }: ShownDocument) => withSource.has(kind)

/** A longer text is cut: to draw it would stop the page. */
const maxShown = 1_000_000

export function PreviewView(props: {
  document: ShownDocument
  isSource: boolean
  isWrapped: boolean
  onEscape(): void
}) {
  const { document, isSource, isWrapped, onEscape } = props
  const { kind, name, text, bytes, stored } = document
  const source = <SourceText document={document} isWrapped={isWrapped} />
  if (kind === 'pdf') {
    const words = stored ? <DocumentText {...stored} /> : null
    if (isSource || !bytes) return <Padded>{words}</Padded>
    return (
      <Padded>
        <Suspense fallback={<Loading />}>
          <PdfView data={bytes}>{words}</PdfView>
        </Suspense>
      </Padded>
    )
  }
  if (isSource) return source
  switch (kind) {
    case 'html':
      return <HtmlView html={text ?? ''} title={name} onEscape={onEscape} />
    case 'svg':
      return <SvgView svg={text ?? ''} name={name} source={source} />
    case 'mermaid':
      return (
        <Padded>
          <Diagram source={text ?? ''} />
        </Padded>
      )
    case 'markdown':
      return (
        <Padded>
          <Markdown text={(text ?? '').slice(0, maxShown)} />
          {(text ?? '').length > maxShown && <Note>{t.preview.cut}</Note>}
        </Padded>
      )
    case 'table':
      return <TableView text={text ?? ''} />
    case 'picture':
    case 'audio':
    case 'video':
      return bytes ? <MediaPlayer document={document} bytes={bytes} /> : null
    case 'document':
      return <Padded>{stored ? <DocumentText {...stored} /> : <Note>{t.preview.binary}</Note>}</Padded>
    case 'binary':
      return (
        <Padded>
          <Note>{t.preview.binary}</Note>
        </Padded>
      )
    default:
      return source
  }
}

const PdfView = lazy(() =>
  import('./pdf-view.tsx').then(
    ({ PdfView }) => ({ default: PdfView }),
    // Without the part that draws pages, the text can be read.
    () => ({ default: ({ children }: { data: Uint8Array; children: ReactNode }) => <>{children}</> }),
  ),
)

function Padded({ children }: { children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <div className="h-full overflow-auto p-4" tabIndex={0}>
      {children}
    </div>
  )
}

const Note = ({ children }: { children: ReactNode }) => <p className="text-sm text-soft">{children}</p>
const Loading = () => <p className="breathing text-sm text-soft">{t.common.loading}</p>

function SourceText({ document, isWrapped }: { document: ShownDocument; isWrapped: boolean }) {
  const { text = '', language } = document
  const isCut = text.length > maxShown
  return (
    <div className="flex h-full flex-col">
      <div className="min-h-0 flex-1 overflow-auto bg-sunken">
        <CodeText code={isCut ? text.slice(0, maxShown) : text} language={language} isWrapped={isWrapped} />
      </div>
      {isCut && (
        <div className="border-t border-line px-4 py-2">
          <Note>{t.preview.cut}</Note>
        </div>
      )}
    </div>
  )
}

const loadsFromElsewhere =
  /<(?:script|img|link|iframe|video|audio|source)\b[^>]{0,500}?\b(?:src|href)\s*=\s*["']?\s*(?:https?:)?\/\//i

/**
 * HTML with its scripts, in a document that has no origin, no network and no rights (SEC-9a). Only two words are taken from it:
 * that it is there, and that Escape was pressed in it.
 */
function HtmlView({ html, title, onEscape }: { html: string; title: string; onEscape(): void }) {
  const frame = useRef<HTMLIFrameElement>(null)
  const pressed = useRef(onEscape)
  pressed.current = onEscape
  useEffect(() => {
    const element = frame.current
    if (!element) return
    let isSent = false
    function onMessage({ source, data }: MessageEvent<unknown>): void {
      if (!element?.contentWindow || source !== element.contentWindow) return
      if (data === 'ready' && !isSent) {
        isSent = true
        // It has no origin that could be named here.
        element.contentWindow.postMessage(html, '*')
      } else if (data === 'escape') pressed.current()
    }
    window.addEventListener('message', onMessage)
    element.src = '/preview.html'
    return () => window.removeEventListener('message', onMessage)
  }, [html])
  return (
    <div className="flex h-full flex-col">
      {loadsFromElsewhere.test(html) && (
        <div className="border-b border-line px-4 py-2">
          <Note>{t.preview.noNetwork}</Note>
        </div>
      )}
      <iframe
        ref={frame}
        // Another document gets a frame of its own.
        key={html}
        title={title}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        className="min-h-0 w-full flex-1 bg-white"
      />
    </div>
  )
}

/** As an image, where no script runs and nothing is loaded. Its address has no origin, even when it is opened by itself. */
function SvgView({ svg, name, source }: { svg: string; name: string; source: ReactNode }) {
  const [failed, setFailed] = useState<string>()
  const address = useMemo(() => {
    const drawing = /<svg\b[^>]*\sxmlns\s*=/.test(svg)
      ? svg
      : svg.replace(/<svg\b/, '<svg xmlns="http://www.w3.org/2000/svg"')
    return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing.toWellFormed())}`
  }, [svg])
  if (failed === svg) {
    return (
      <div className="flex h-full flex-col">
        <div className="p-4">
          <Notice kind="warning">{t.preview.svgFailed}</Notice>
        </div>
        <div className="min-h-0 flex-1">{source}</div>
      </div>
    )
  }
  return (
    <Padded>
      <img
        src={address}
        alt={name}
        onError={() => setFailed(svg)}
        // Drawings expect a light ground.
        className="mx-auto max-h-full min-h-32 max-w-full rounded-xl border border-line bg-white object-contain p-2"
      />
    </Padded>
  )
}

/** Any other type could run as a page of this origin. */
const harmless = /^(?:image\/(?:png|jpeg|gif|webp)|audio\/[\w.+-]+|video\/(?:mp4|webm))$/

function MediaPlayer({ document, bytes }: { document: ShownDocument; bytes: Uint8Array<ArrayBuffer> }) {
  const { kind, name, mediaType } = document
  const [address, setAddress] = useState<string>()
  const [isActual, setActual] = useState(false)
  useEffect(() => {
    const type = harmless.test(mediaType) ? mediaType : 'application/octet-stream'
    const made = URL.createObjectURL(new Blob([bytes], { type }))
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [bytes, mediaType])
  if (!address) return null
  if (kind === 'audio') {
    return (
      <Padded>
        {/* biome-ignore lint/a11y/useMediaCaption: a file of the user's; it brings no captions. */}
        <audio controls src={address} aria-label={name} className="w-full" />
      </Padded>
    )
  }
  if (kind === 'video') {
    return (
      <Padded>
        {/* biome-ignore lint/a11y/useMediaCaption: a file of the user's; it brings no captions. */}
        <video controls src={address} aria-label={name} className="max-h-full w-full" />
      </Padded>
    )
  }
  return (
    <Padded>
      <button
        type="button"
        aria-pressed={isActual}
        aria-label={isActual ? t.preview.fitSize : t.preview.actualSize}
        title={isActual ? t.preview.fitSize : t.preview.actualSize}
        onClick={() => setActual(!isActual)}
        className={classes('mx-auto block', isActual ? 'w-max cursor-zoom-out' : 'max-w-full cursor-zoom-in')}
      >
        <img
          src={address}
          alt={name}
          className={classes('rounded-xl border border-line', isActual ? 'max-w-none' : 'max-w-full')}
        />
      </button>
    </Padded>
  )
}

/** The words of a PDF or Office file. */
function DocumentText({ sessionId, hash }: { sessionId: string; hash: string }) {
  const [read, setRead] = useState<{ text: string; isCut: boolean } | 'unreadable'>()
  useEffect(() => {
    const controller = new AbortController()
    call('page.mediaText', { id: sessionId, hash }, { signal: controller.signal })
      .then(({ text, is_cut }) => setRead({ text, isCut: is_cut }))
      .catch(() => !controller.signal.aborted && setRead('unreadable'))
    return () => controller.abort()
  }, [hash, sessionId])
  if (!read) return <Loading />
  if (read === 'unreadable' || read.text.trim() === '') return <Note>{t.preview.binary}</Note>
  return (
    <>
      <Markdown text={read.text} />
      {read.isCut && <Note>{t.preview.cut}</Note>}
    </>
  )
}

const maxCells = 200_000
const maxRows = 1_000

/** A table of a file. A press on a column sorts by it: up, down, and as in the file. */
function TableView({ text }: { text: string }) {
  const [sorted, setSorted] = useState<{ column: number; isDown: boolean }>()
  const { head, body, width, isCut } = useMemo(() => {
    const { rows, isCut } = readCsv(text.replace(/^\ufeff/, ''), maxCells)
    const [head = [], ...body] = rows.filter((row) => row.length > 1 || row[0] !== '')
    return { head, body, width: rows.reduce((most, row) => Math.max(most, row.length), 0), isCut }
  }, [text])
  const rows = useMemo(
    () => (sorted ? sortRows(body, sorted.column, sorted.isDown) : body).slice(0, maxRows),
    [body, sorted],
  )
  if (width === 0) return <Padded>{<Note>{t.preview.emptyTable}</Note>}</Padded>
  const isLong = isCut || body.length > maxRows

  function press(column: number): void {
    if (sorted?.column !== column) setSorted({ column, isDown: false })
    else setSorted(sorted.isDown ? undefined : { column, isDown: true })
  }

  const columns = Array.from({ length: width }, (_, column) => ({
    column,
    name: head[column] || t.preview.column(column + 1),
  }))
  return (
    <div className="flex h-full flex-col">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <section aria-label={t.preview.table} tabIndex={0} className="min-h-0 flex-1 overflow-auto">
        <table className="min-w-full border-separate border-spacing-0 text-sm">
          <thead>
            <tr>
              {columns.map(({ column, name }) => {
                const isSorted = sorted?.column === column
                return (
                  <th
                    key={column}
                    scope="col"
                    aria-sort={isSorted ? (sorted.isDown ? 'descending' : 'ascending') : 'none'}
                    className="sticky top-0 border-b border-line bg-sunken text-start font-medium"
                  >
                    <button
                      type="button"
                      title={t.preview.sortBy(name)}
                      onClick={() => press(column)}
                      className="flex min-h-9 w-full items-center gap-1 whitespace-nowrap px-3 py-1.5 text-start -outline-offset-2 hover:bg-line"
                    >
                      {name}
                      <span aria-hidden="true" className={classes('text-xs', !isSorted && 'opacity-0')}>
                        {isSorted && sorted.isDown ? '▼' : '▲'}
                      </span>
                    </button>
                  </th>
                )
              })}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name.
              <tr key={at} className="even:bg-sunken/50">
                {columns.map(({ column }) => (
                  <td
                    key={column}
                    className="max-w-80 min-w-16 border-b border-line px-3 py-1.5 align-top wrap-break-word whitespace-pre-line"
                  >
                    {row[column]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {isLong && (
        <div className="border-t border-line px-4 py-2">
          <Note>{isCut ? t.preview.rowsCut(rows.length) : t.preview.rows(rows.length, body.length)}</Note>
        </div>
      )}
    </div>
  )
}
