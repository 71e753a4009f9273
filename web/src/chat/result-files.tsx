import { type ReactNode, useEffect, useState } from 'react'
import type { MediaPart } from '../../../src/protocol/messages.ts'
import { call, callRaw } from '../api/call.ts'
import { CodeBlock } from '../components/code.tsx'
import { Button } from '../components/controls.tsx'
import { Dialog } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Markdown } from '../components/markdown.tsx'
import { formatBytes } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { readCsv } from './read-csv.ts'

interface FileProps {
  part: MediaPart
  sessionId: string
}

/** A file that a tool wrote: its name, a preview on request, and a download. */
export function ResultFile({ part, sessionId }: FileProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        onClick={() => setOpen(true)}
        title={part.path ?? part.name}
        className="me-2 inline-flex min-h-9 max-w-full items-center gap-2 rounded-lg border border-line px-3 py-1.5 text-sm hover:bg-sunken"
      >
        <Icon name="attach" size={16} />
        <span dir="auto" className="min-w-0 truncate font-medium">
          {part.name}
        </span>
        <span className="shrink-0 text-soft">{formatBytes(part.bytes)}</span>
      </button>
      {isOpen && (
        <Dialog
          isOpen
          onClose={() => setOpen(false)}
          title={part.name}
          {...(part.path && part.path !== part.name && { description: part.path })}
        >
          <OpenFile part={part} sessionId={sessionId} />
        </Dialog>
      )}
    </>
  )
}

/** Fetched when it is opened: its own request would not carry the page's key. */
function OpenFile({ part, sessionId }: FileProps) {
  const { hash, mediaType, name } = part
  const [data, setData] = useState<Uint8Array<ArrayBuffer>>()
  const [address, setAddress] = useState<string>()
  const [isGone, setGone] = useState(false)
  useEffect(() => {
    const controller = new AbortController()
    let made: string | undefined
    callRaw('page.media', { id: sessionId, hash }, { signal: controller.signal })
      .then((response) => response.arrayBuffer())
      .then((buffer) => {
        // Any other type could run as a page of this origin.
        const type = opensInTab(mediaType) || isPicture(mediaType) ? mediaType : 'application/octet-stream'
        made = URL.createObjectURL(new Blob([buffer], { type }))
        setData(new Uint8Array(buffer))
        setAddress(made)
      })
      .catch(() => !controller.signal.aborted && setGone(true))
    return () => {
      controller.abort()
      if (made) URL.revokeObjectURL(made)
    }
  }, [hash, mediaType, sessionId])
  if (isGone) return <p className="text-sm text-warn">{t.resultFiles.gone}</p>
  if (!data || !address) return <p className="breathing text-sm text-soft">{t.common.loading}</p>
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap gap-2">
        <a
          href={address}
          download={name}
          className="inline-flex items-center gap-2 rounded-lg border border-line px-3 py-1.5 text-sm hover:bg-sunken"
        >
          <Icon name="arrow_down" size={16} /> {t.resultFiles.download}
        </a>
        {opensInTab(mediaType) && (
          <Button onClick={() => window.open(address, '_blank', 'noopener')}>{t.resultFiles.open}</Button>
        )}
      </div>
      <Preview part={part} sessionId={sessionId} data={data} address={address} />
    </div>
  )
}

const maxPreviewBytes = 1_000_000

function Preview({ part, sessionId, data, address }: FileProps & { data: Uint8Array; address: string }): ReactNode {
  const { mediaType, name } = part
  if (isPicture(mediaType)) return <img src={address} alt={name} className="max-w-full rounded-xl border border-line" />
  if (isDocument(mediaType)) return <DocumentText part={part} sessionId={sessionId} />
  if (!/^text\/|^application\/json$|^image\/svg/.test(mediaType)) {
    return <p className="text-sm text-soft">{t.resultFiles.noPreview}</p>
  }
  const isCut = data.length > maxPreviewBytes
  const text = new TextDecoder().decode(data.subarray(0, maxPreviewBytes))
  if (mediaType === 'text/csv') return <Table text={text} isCut={isCut} />
  return (
    <>
      {mediaType === 'text/markdown' ? <Markdown text={text} /> : <CodeBlock code={text} language={languageOf(name)} />}
      {isCut && <Cut />}
    </>
  )
}

/** The words of a PDF or Office file. */
function DocumentText({ part, sessionId }: FileProps) {
  const [read, setRead] = useState<{ text: string; isCut: boolean } | 'unreadable'>()
  useEffect(() => {
    const controller = new AbortController()
    call('page.mediaText', { id: sessionId, hash: part.hash }, { signal: controller.signal })
      .then(({ text, is_cut }) => setRead({ text, isCut: is_cut }))
      .catch(() => !controller.signal.aborted && setRead('unreadable'))
    return () => controller.abort()
  }, [part.hash, sessionId])
  if (!read) return <p className="breathing text-sm text-soft">{t.common.loading}</p>
  if (read === 'unreadable' || read.text.trim() === '') {
    return <p className="text-sm text-soft">{t.resultFiles.noPreview}</p>
  }
  return (
    <>
      <Markdown text={read.text} />
      {read.isCut && <Cut />}
    </>
  )
}

function Table({ text, isCut }: { text: string; isCut: boolean }) {
  const { rows, isCut: isLong } = readCsv(text.replace(/^\ufeff/, ''))
  const [head = [], ...body] = rows
  // Rows and cells of a finished file never move.
  const keyed = <T,>(items: readonly T[]) => items.map((item, at) => ({ item, key: String(at) }))
  return (
    <>
      <section aria-label={t.resultFiles.table} className="overflow-x-auto">
        <table className="w-full border-collapse text-sm">
          <thead>
            <tr className="text-start text-soft">
              {keyed(head).map(({ item, key }) => (
                <th key={key} scope="col" className="px-2 py-1.5 text-start font-medium">
                  {item}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {keyed(body).map(({ item, key }) => (
              <tr key={key} className="border-t border-line">
                {keyed(item).map((cell) => (
                  <td key={cell.key} className="px-2 py-1.5">
                    {cell.item}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {(isCut || isLong) && <Cut />}
    </>
  )
}

function Cut() {
  return <p className="text-sm text-soft">{t.resultFiles.cut}</p>
}

function isPicture(mediaType: string): boolean {
  return /^image\/(png|jpeg|gif|webp)$/.test(mediaType)
}

/** The browser's own viewer shows it, which runs nothing in this origin. */
function opensInTab(mediaType: string): boolean {
  return mediaType === 'application/pdf'
}

function isDocument(mediaType: string): boolean {
  return /^application\/(pdf|vnd\.openxmlformats-officedocument\.|vnd\.oasis\.opendocument\.)/.test(mediaType)
}

function languageOf(name: string): string {
  const ending = /\.([a-z]{1,5})$/i.exec(name)?.[1]?.toLowerCase() ?? ''
  return { py: 'python', js: 'javascript', ts: 'typescript', sh: 'bash', html: 'html', json: 'json' }[ending] ?? ''
}
