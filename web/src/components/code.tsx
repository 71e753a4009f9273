import { type CSSProperties, memo, useCallback, useEffect, useMemo, useState } from 'react'
import { openPreview } from '../preview/preview.tsx'
import { t } from '../strings/strings.ts'
import { useThemeName } from './bars.tsx'
import { CopyButton, classes } from './controls.tsx'
import type { DrawnDiagram } from './draw-diagram.ts'
import type { CodePiece } from './highlight.ts'
import { Icon, type IconName } from './icon.tsx'
import { readInfo } from './markdown-source.ts'

interface CodeBlockProps {
  code: string
  /** The words after the marks of a fence: the language, and maybe the name of a file. */
  language?: string | undefined
  /** More of it is on its way: it is colored when it is whole. */
  isGrowing?: boolean
}

export function CodeBlock({ code, language: info = '', isGrowing = false }: CodeBlockProps) {
  const [isWrapped, setWrapped] = useState(false)
  const { language, name } = useMemo(() => readInfo(info), [info])
  return (
    <div className="overflow-hidden rounded-xl border border-line bg-sunken">
      <div className="flex items-center gap-0.5 border-b border-line py-0.5 ps-3 pe-1.5 text-xs text-soft">
        <span className="min-w-0 flex-1 truncate">{name ?? (language || t.common.plainText)}</span>
        <HeaderButton icon="wrap" label={t.preview.wrap} isOn={isWrapped} onClick={() => setWrapped(!isWrapped)} />
        {!isGrowing && (
          <>
            <HeaderButton
              icon="download"
              label={t.preview.download}
              onClick={() => void import('../preview/contents.ts').then(({ saveCode }) => saveCode(code, info))}
            />
            <HeaderButton
              icon="panel"
              label={t.preview.open}
              onClick={() => openPreview({ from: 'code', code, info })}
            />
          </>
        )}
        <CopyButton text={code} />
      </div>
      <CodeText code={code} language={isGrowing ? '' : language} isWrapped={isWrapped} />
    </div>
  )
}

/** A small button with a picture, in the header of a block. Its name is read aloud and shown on hovering. */
export function HeaderButton(props: { icon: IconName; label: string; isOn?: boolean; onClick(): void }) {
  const { icon, label, isOn, onClick } = props
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      aria-pressed={isOn}
      onClick={onClick}
      className="inline-flex size-7 shrink-0 items-center justify-center rounded hover:text-ink aria-pressed:text-accent pointer-coarse:size-9"
    >
      <Icon name={icon} size={14} />
    </button>
  )
}

/** Lines that are drawn together: the browser skips the pieces that are out of sight. */
const linesAtOnce = 100

export function CodeText({ code, language, isWrapped }: { code: string; language: string; isWrapped: boolean }) {
  const colored = useColored(code, language)
  const pieces = useMemo(() => (colored ? undefined : linePieces(code)), [code, colored])
  return (
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
      tabIndex={0}
      className={classes(
        'overflow-x-auto p-3 font-mono text-[0.8125rem] leading-relaxed',
        isWrapped && 'whitespace-pre-wrap wrap-anywhere',
      )}
    >
      <code>
        {pieces?.map((piece, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces only grow at the end.
          <CodePart key={at} text={piece} />
        ))}
        {colored &&
          Array.from({ length: Math.ceil(colored.length / linesAtOnce) }, (_, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a finished block never move.
            <span key={at} className={colored.length > linesAtOnce ? 'code-part' : undefined}>
              {colored
                .slice(at * linesAtOnce, (at + 1) * linesAtOnce)
                .map((line, index, { length }) =>
                  coloredLine(line, index, index < length - 1 || (at + 1) * linesAtOnce < colored.length),
                )}
            </span>
          ))}
      </code>
    </pre>
  )
}

/** While a block grows, only its last piece changes. */
export const CodePart = memo(function CodePart({ text }: { text: string }) {
  return <span className={text.length > 2_000 ? 'code-part' : undefined}>{text}</span>
})

export function linePieces(code: string): string[] {
  const pieces: string[] = []
  let start = 0
  while (start < code.length) {
    let end = start
    for (let line = 0; line < linesAtOnce && end < code.length; line += 1)
      end = code.indexOf('\n', end) + 1 || code.length
    pieces.push(code.slice(start, end))
    start = end
  }
  return pieces
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

function coloredLine(line: CodePiece[], index: number, hasNext: boolean) {
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
    hasNext && '\n',
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
  if (!typeset) {
    const title = typeset === null ? t.preview.formulaFailed : undefined
    const source = (
      <code className={isDisplay ? 'formula-source' : undefined} title={title}>
        {tex}
      </code>
    )
    if (!isDisplay || !title) return source
    return (
      <>
        <span role="note" className="block text-sm text-warn">
          {title}
        </span>
        {source}
      </>
    )
  }
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
  return isDisplay ? <span ref={put} className="formula-block" tabIndex={0} /> : <span ref={put} />
}

/** A diagram in Mermaid's language as an image, with its source under it. A diagram with errors is shown as its source. */
export function Diagram({ source }: { source: string }) {
  const theme = useThemeName()
  const [drawn, setDrawn] = useState<{ source: string; image: DrawnDiagram | undefined }>()
  useEffect(() => {
    let isWanted = true
    const put = (image: DrawnDiagram | undefined) => isWanted && setDrawn({ source, image })
    import('./draw-diagram.ts').then(({ drawDiagram }) => drawDiagram(source, theme)).then(put, () => put(undefined))
    return () => {
      isWanted = false
    }
  }, [source, theme])
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
      <div className="flex items-start border-t border-line pe-1.5 text-xs text-soft">
        <details className="min-w-0 flex-1 px-3">
          <summary className="min-h-7 py-1">{t.common.source}</summary>
          <pre className="overflow-x-auto pb-2 font-mono text-[0.8125rem]">{source}</pre>
        </details>
        <HeaderButton
          icon="panel"
          label={t.preview.open}
          onClick={() => openPreview({ from: 'code', code: source, info: 'mermaid' })}
        />
      </div>
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
