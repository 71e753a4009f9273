import { type CSSProperties, useCallback, useEffect, useState } from 'react'
import { t } from '../strings/strings.ts'
import { useThemeName } from './bars.tsx'
import { CopyButton, classes } from './controls.tsx'
import type { DrawnDiagram } from './draw-diagram.ts'
import type { CodePiece } from './highlight.ts'

interface CodeBlockProps {
  code: string
  language?: string | undefined
  /** More of it is on its way: it is colored when it is whole. */
  isGrowing?: boolean
}

export function CodeBlock({ code, language = '', isGrowing = false }: CodeBlockProps) {
  const lines = useColored(code, isGrowing ? '' : language)
  return (
    <div className="overflow-hidden rounded-xl border border-line bg-sunken">
      <div className="flex items-center justify-between border-b border-line px-3 py-0.5 text-xs text-soft">
        <span>{language || t.common.plainText}</span>
        <CopyButton text={code} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <pre tabIndex={0} className="overflow-x-auto p-3 font-mono text-[0.8125rem] leading-relaxed">
        <code>{lines ? lines.map(coloredLine) : code}</code>
      </pre>
    </div>
  )
}

function useColored(code: string, language: string): CodePiece[][] | undefined {
  const [colored, setColored] = useState<{ code: string; lines: CodePiece[][] | undefined }>()
  useEffect(() => {
    if (language === '') return
    let isWanted = true
    // Without colors it can be read as well.
    const put = (lines: CodePiece[][] | undefined) => isWanted && setColored({ code, lines })
    import('./highlight.ts').then(({ highlight }) => highlight(code, language)).then(put, () => undefined)
    return () => {
      isWanted = false
    }
  }, [code, language])
  return colored?.code === code ? colored.lines : undefined
}

function coloredLine(line: CodePiece[], index: number, { length }: CodePiece[][]) {
  return [
    ...line.map(({ text, light, dark }, at) => (
      <span
        key={`${index}.${
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a finished block never move.
          at
        }`}
        className="code-piece"
        style={{ '--on-light': light, '--on-dark': dark } as CSSProperties}
      >
        {text}
      </span>
    )),
    index < length - 1 && '\n',
  ]
}

type Typesetter = typeof import('./typeset.ts')

let typesetter: Typesetter | undefined

/** Loaded with the first formula; undefined until then, and where it cannot be loaded. */
function useTypesetter(): Typesetter | undefined {
  const [loaded, setLoaded] = useState(typesetter)
  useEffect(() => {
    if (loaded) return
    let isWanted = true
    const put = (module: Typesetter) => {
      typesetter = module
      if (isWanted) setLoaded(module)
    }
    // Without it the source is shown, which can be read as well.
    import('./typeset.ts').then(put, () => undefined)
    return () => {
      isWanted = false
    }
  }, [loaded])
  return loaded
}

/** A formula. Its source is shown until the typesetter is there, and where it cannot be typeset. */
export function Formula({ tex, isDisplay }: { tex: string; isDisplay: boolean }) {
  const typeset = useTypesetter()?.typeset(tex, isDisplay)
  const put = useCallback(
    (place: HTMLElement | null) => {
      if (place && typeset) place.replaceChildren(typeset.cloneNode(true))
    },
    [typeset],
  )
  if (!typeset) return <code className={isDisplay ? 'formula-source' : undefined}>{tex}</code>
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
  return isDisplay ? <span ref={put} className="formula-block" tabIndex={0} /> : <span ref={put} />
}

/** A diagram in Mermaid's language as an image, with its source under it. A diagram with errors is shown as its source. */
export function Diagram({ source }: { source: string }) {
  const isDark = useThemeName() === 'dark'
  const [drawn, setDrawn] = useState<{ source: string; image: DrawnDiagram | undefined }>()
  useEffect(() => {
    let isWanted = true
    const put = (image: DrawnDiagram | undefined) => isWanted && setDrawn({ source, image })
    import('./draw-diagram.ts').then(({ drawDiagram }) => drawDiagram(source, isDark)).then(put, () => put(undefined))
    return () => {
      isWanted = false
    }
  }, [source, isDark])
  const image = drawn?.source === source ? drawn.image : undefined
  if (!image) {
    return (
      <>
        {drawn?.source === source && (
          <p role="note" className="mb-1 text-sm text-warn">
            {t.common.diagramFailedSource}
          </p>
        )}
        <CodeBlock code={source} language="mermaid" />
      </>
    )
  }
  return (
    <figure className="overflow-hidden rounded-xl border border-line bg-sunken">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <div className="overflow-x-auto p-3" tabIndex={0}>
        <img src={image.address} width={image.width} height={image.height} alt={t.common.diagram} className="diagram" />
      </div>
      <details className="border-t border-line px-3 text-xs text-soft">
        <summary className="py-1">{t.common.source}</summary>
        <pre className="overflow-x-auto pb-2 font-mono text-[0.8125rem]">{source}</pre>
      </details>
    </figure>
  )
}

/** A unified diff: added and removed lines have a sign and a color. */
export function DiffText({ text }: { text: string }) {
  const lines = text.replace(/\n$/, '').split('\n')
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <pre tabIndex={0} className="overflow-x-auto py-2 font-mono text-[0.8125rem] leading-relaxed">
      {lines.map((line, index) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name.
          key={index}
          className={classes('block w-max min-w-full px-3', colorOf(line))}
        >
          {line || ' '}
        </span>
      ))}
    </pre>
  )
}

function colorOf(line: string): string {
  if (line.startsWith('+++') || line.startsWith('---') || line.startsWith('@@')) return 'text-soft'
  if (line.startsWith('+')) return 'bg-accent-soft text-good'
  return line.startsWith('-') ? 'bg-bad-soft text-bad' : ''
}
