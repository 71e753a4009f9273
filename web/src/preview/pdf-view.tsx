import { getDocument, type PDFDocumentProxy, PDFWorker } from 'pdfjs-dist'
import workerAddress from 'pdfjs-dist/build/pdf.worker.min.mjs?worker&url'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Button } from '../components/controls.tsx'
import { Notice } from '../components/feedback.tsx'
import { t } from '../strings/strings.ts'

interface ScriptPolicy {
  createScriptURL(address: string): string
}

// The page's policy starts a worker only from an address that a Trusted Types policy returns.
const { trustedTypes } = globalThis as unknown as {
  trustedTypes?: { createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy }
}
const rules: ScriptPolicy = { createScriptURL: () => workerAddress }
const policy = trustedTypes?.createPolicy('familiar-pdf', rules) ?? rules

/** Character maps of Chinese, Japanese and Korean fonts, each loaded when a file needs it. */
const characterMaps = import.meta.glob<string>('../../node_modules/pdfjs-dist/cmaps/*.bcmap', {
  query: '?url',
  import: 'default',
  eager: true,
})

class CharacterMaps {
  async fetch({ kind, filename }: { kind: string; filename: string }): Promise<Uint8Array> {
    const address = characterMaps[`../../node_modules/pdfjs-dist/cmaps/${filename}`]
    if (kind !== 'cMapUrl' || address === undefined) throw new Error(`There is no ${filename}.`)
    return new Uint8Array(await (await fetch(address)).arrayBuffer())
  }
}

async function openDocument(data: Uint8Array): Promise<PDFDocumentProxy> {
  // Each document has a worker of its own, which ends with it: a file that takes forever stops nothing else.
  const port = new Worker(policy.createScriptURL(workerAddress), { type: 'module' })
  const worker = PDFWorker.create({ port })
  const task = getDocument({
    // The worker takes the bytes over.
    data: data.slice(),
    worker,
    BinaryDataFactory: CharacterMaps,
    cMapUrl: 'maps/',
    useWorkerFetch: false,
    // The policy of the page allows no WebAssembly.
    useWasm: false,
    maxImageSize: 50_000_000,
  })
  try {
    return await task.promise
  } catch (error) {
    port.terminate()
    throw error
  }
}

/** Forms and scripts of the file are not run: its pages are pictures. */
export function PdfView({ data, children }: { data: Uint8Array; children: ReactNode }) {
  const [opened, setOpened] = useState<PDFDocumentProxy>()
  const [problem, setProblem] = useState<'failed' | 'password'>()
  const [shown, setShown] = useState(pagesAtOnce)
  useEffect(() => {
    let isWanted = true
    let made: PDFDocumentProxy | undefined
    openDocument(data).then(
      (document) => {
        made = document
        if (isWanted) setOpened(document)
        else void document.loadingTask.destroy()
      },
      (error: unknown) => {
        const isLocked = error instanceof Error && error.name === 'PasswordException'
        if (isWanted) setProblem(isLocked ? 'password' : 'failed')
      },
    )
    return () => {
      isWanted = false
      void made?.loadingTask.destroy()
    }
  }, [data])
  if (problem === 'password') return <Notice>{t.preview.pdfPassword}</Notice>
  if (problem) {
    return (
      <div className="space-y-3">
        <Notice kind="warning">{t.preview.pdfFailed}</Notice>
        {children}
      </div>
    )
  }
  if (!opened) return <p className="breathing text-sm text-soft">{t.common.loading}</p>
  const count = Math.min(shown, opened.numPages)
  return (
    <div className="space-y-3">
      {Array.from({ length: count }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pages have no other name.
        <PdfPage key={at} document={opened} number={at + 1} onFailure={() => setProblem('failed')} />
      ))}
      {count < opened.numPages && (
        <Button onClick={() => setShown(shown + pagesAtOnce)}>
          {t.preview.morePages(Math.min(pagesAtOnce, opened.numPages - count))}
        </Button>
      )}
    </div>
  )
}

const pagesAtOnce = 50
/** Wider than this, no screen shows more of a page. */
const maxCanvasWidth = 2_400

function PdfPage(props: { document: PDFDocumentProxy; number: number; onFailure(): void }) {
  const { document, number, onFailure } = props
  const place = useRef<HTMLDivElement>(null)
  // A4 until the page is known.
  const [ratio, setRatio] = useState(297 / 210)
  const failed = useRef(onFailure)
  failed.current = onFailure

  useEffect(() => {
    const element = place.current
    if (!element) return
    let isWanted = true
    let drawing: { cancel(): void } | undefined
    async function draw(box: HTMLElement): Promise<void> {
      const page = await document.getPage(number)
      const { width, height } = page.getViewport({ scale: 1 })
      if (!isWanted) return
      setRatio(height / width)
      const pixels = Math.min(box.clientWidth * devicePixelRatio, maxCanvasWidth)
      const viewport = page.getViewport({ scale: Math.max(pixels, 200) / width })
      const canvas = box.ownerDocument.createElement('canvas')
      canvas.width = Math.floor(viewport.width)
      canvas.height = Math.floor(viewport.height)
      canvas.style.width = '100%'
      const task = page.render({ canvas, viewport })
      drawing = task
      await task.promise
      if (isWanted) box.replaceChildren(canvas)
    }
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return
        observer.disconnect()
        draw(element).catch(() => isWanted && failed.current())
      },
      { rootMargin: '800px' },
    )
    observer.observe(element)
    return () => {
      isWanted = false
      observer.disconnect()
      drawing?.cancel()
    }
  }, [document, number])

  return (
    <div
      role="img"
      aria-label={t.preview.page(number, document.numPages)}
      data-page={number}
      className="relative overflow-hidden rounded border border-line bg-white shadow-sm"
      style={{ aspectRatio: `1 / ${ratio}` }}
    >
      <div ref={place} className="absolute inset-0" />
    </div>
  )
}
