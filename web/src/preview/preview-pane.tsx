import { Dialog as Primitive } from 'radix-ui'
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { callRaw, useAnswer } from '../api/call.ts'
import { CopyButton, classes, IconButton } from '../components/controls.tsx'
import { Notice } from '../components/feedback.tsx'
import { Icon } from '../components/icon.tsx'
import { readInfo } from '../components/markdown-source.ts'
import { t } from '../strings/strings.ts'
import { titleOf, versionsOf } from './code-blocks.ts'
import {
  blocksIn,
  downloadName,
  kindOfCode,
  kindOfFile,
  languageOfFile,
  mediaVersions,
  readText,
  saveFile,
} from './contents.ts'
import { closePreview, type PreviewSource, useConversationItems } from './preview.tsx'
import { hasSource, PreviewView, type ShownDocument } from './views.tsx'

/** A version of what is shown. Code has its document at once; a file is fetched when it is shown. */
interface Version {
  key: string
  name: string
  document?: ShownDocument
  fetch?: { sessionId: string; hash: string; mediaType: string }
}

interface Versions {
  all: readonly Version[]
  /** The key of the one that was opened. */
  own: string
  error?: Error | undefined
}

function useVersions(source: PreviewSource): Versions {
  const items = useConversationItems()
  const mention = useMention(source)
  if (source.from === 'mention') return mention
  if (source.from === 'media') {
    const { part, sessionId } = source
    const all = mediaVersions(items, part).map(({ hash, name, mediaType }) => ({
      key: hash,
      name,
      fetch: { sessionId, hash, mediaType },
    }))
    return { all, own: part.hash }
  }
  const { code, info } = source
  const all = versionsOf(blocksIn(items), { code, ...readInfo(info) }).map((block) => {
    const { language, name } = block
    const title = name ?? titleOf(block)
    const document: ShownDocument = {
      kind: kindOfCode(block),
      name: title ?? (language || t.preview.code),
      language,
      mediaType: 'text/plain',
      text: block.code,
      bytes: undefined,
    }
    return { key: block.code, name: downloadName(block, title), document }
  })
  return { all, own: code }
}

/** A file of the user's that a message names: as it is now, and its earlier versions. */
function useMention(source: PreviewSource): Versions {
  const asked = source.from === 'mention' ? source : undefined
  const { data, error } = useAnswer(
    'page.mention',
    asked ? { id: asked.sessionId, message: asked.messageId, name: asked.name } : null,
  )
  if (!asked || !data) return { all: [], own: '', error }
  const all = data.versions.map(({ version, content }) => ({
    key: `${version} ${content}`,
    name: data.path.split('/').at(-1) ?? data.path,
    document: {
      kind: kindOfFile(data.path, '') ?? 'code',
      name: data.path,
      language: languageOfFile(data.path),
      mediaType: 'text/plain',
      text: content,
      bytes: undefined,
    } satisfies ShownDocument,
  }))
  return { all, own: all.at(-1)?.key ?? '' }
}

const withoutText: ReadonlySet<string> = new Set(['pdf', 'picture', 'audio', 'video', 'document'])

type Fetched = { key: string; document: ShownDocument | 'gone' }

/** The document of a version; undefined until it is there. */
function useDocument(version: Version | undefined): ShownDocument | 'gone' | undefined {
  const [fetched, setFetched] = useState<Fetched>()
  const { key = '', name = '', fetch } = version ?? {}
  const { sessionId, hash, mediaType = '' } = fetch ?? {}
  useEffect(() => {
    if (sessionId === undefined || hash === undefined) return
    const controller = new AbortController()
    callRaw('page.media', { id: sessionId, hash }, { signal: controller.signal })
      .then((response) => response.arrayBuffer())
      .then((buffer) => {
        const bytes = new Uint8Array(buffer)
        const known = kindOfFile(name, mediaType)
        const text = known !== undefined && withoutText.has(known) ? undefined : readText(bytes)
        const kind = known ?? (text === undefined ? 'binary' : 'code')
        const language = languageOfFile(name)
        const stored = { sessionId, hash }
        setFetched({ key, document: { kind, name, language, mediaType, text, bytes, stored } })
      })
      .catch(() => !controller.signal.aborted && setFetched({ key, document: 'gone' }))
    return () => controller.abort()
  }, [key, name, sessionId, hash, mediaType])
  if (!version) return undefined
  return version.document ?? (fetched?.key === version.key ? fetched.document : undefined)
}

function Content({ source, title }: { source: PreviewSource; title: (name: string) => ReactNode }) {
  const { all, own, error } = useVersions(source)
  const [chosen, setChosen] = useState<string>()
  const newest = all.at(-1)?.key
  const before = useRef(newest)
  const key = chosen ?? own
  useEffect(() => {
    // After the newest version, the next one is shown as soon as it is written.
    if (before.current !== undefined && before.current !== newest && key === before.current) setChosen(newest)
    before.current = newest
  }, [newest, key])
  const at = Math.max(
    all.findLastIndex((version) => version.key === key),
    0,
  )
  const version = all[at]
  const document = useDocument(version)
  const [isSource, setSource] = useState(false)
  const [isWrapped, setWrapped] = useState(false)
  const isThere = document !== undefined && document !== 'gone'
  const text = isThere ? document.text : undefined
  const isText = isThere && (document.kind === 'code' || (isSource && document.kind !== 'pdf'))

  function download(): void {
    if (!version || !isThere) return
    saveFile(version.name, document.bytes ?? document.text ?? '')
  }

  const name = isThere ? document.name : (version?.name ?? '')
  return (
    <>
      <header className="@container flex flex-wrap items-center gap-x-2 gap-y-1 border-b border-line py-1.5 ps-4 pe-2">
        <div className="min-w-24 flex-1 truncate">{title(name)}</div>
        {(all.length > 1 || (isThere && hasSource(document))) && (
          <div
            className={classes(
              'flex items-center justify-between gap-2 @max-md:order-last @max-md:w-full @max-md:pe-2 @max-md:pb-1',
              // The switch of versions needs more room.
              all.length > 1 && '@max-xl:order-last @max-xl:w-full @max-xl:pe-2 @max-xl:pb-1',
            )}
          >
            {all.length > 1 && <VersionSwitch at={at} count={all.length} onChoose={(to) => setChosen(all[to]?.key)} />}
            {isThere && hasSource(document) && (
              <ModeSwitch
                source={document.kind === 'pdf' ? t.preview.text : t.preview.source}
                isSource={isSource}
                onChange={setSource}
              />
            )}
          </div>
        )}
        <div className="flex items-center">
          {isText && (
            <IconButton label={t.preview.wrap} aria-pressed={isWrapped} onClick={() => setWrapped(!isWrapped)}>
              <Icon name="wrap" />
            </IconButton>
          )}
          {text !== undefined && text !== '' && <CopyButton text={text} />}
          <IconButton label={t.preview.download} disabled={!isThere} onClick={download}>
            <Icon name="download" />
          </IconButton>
          <IconButton label={t.preview.close} onClick={closePreview}>
            <Icon name="close" />
          </IconButton>
        </div>
      </header>
      <div className="min-h-0 flex-1">
        {isThere ? (
          <PreviewView
            key={version?.key}
            document={document}
            isSource={isSource}
            isWrapped={isWrapped}
            onEscape={closePreview}
          />
        ) : (
          <div className="p-4">
            {document === 'gone' || error ? (
              <Notice kind="warning">{error?.message ?? t.preview.gone}</Notice>
            ) : (
              <p className="breathing text-sm text-soft">{t.common.loading}</p>
            )}
          </div>
        )}
      </div>
    </>
  )
}

function VersionSwitch(props: { at: number; count: number; onChoose(at: number): void }) {
  const { at, count, onChoose } = props
  const step = (to: number, label: string, icon: 'chevron_left' | 'chevron_right') => {
    const isPossible = to >= 0 && to < count
    return (
      <button
        type="button"
        aria-label={label}
        title={label}
        // Not `disabled`, which would take the focus away at the first and the last one.
        aria-disabled={!isPossible}
        onClick={() => isPossible && onChoose(to)}
        className="inline-flex size-7 items-center justify-center rounded hover:bg-sunken hover:text-ink aria-disabled:opacity-40 pointer-coarse:size-9 rtl:-scale-x-100"
      >
        <Icon name={icon} size={14} />
      </button>
    )
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form.
    <span
      role="group"
      aria-label={t.preview.versions}
      className="inline-flex shrink-0 items-center text-xs text-soft tabular-nums"
    >
      {step(at - 1, t.preview.previous, 'chevron_left')}
      <span aria-live="polite">{t.preview.version(at + 1, count)}</span>
      {step(at + 1, t.preview.next, 'chevron_right')}
    </span>
  )
}

function ModeSwitch(props: { source: string; isSource: boolean; onChange(isSource: boolean): void }) {
  const { source, isSource, onChange } = props
  const mode = (label: string, isOn: boolean, value: boolean) => (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={() => onChange(value)}
      className={classes(
        'min-h-7 rounded-md px-2.5 text-xs pointer-coarse:min-h-9',
        isOn ? 'bg-raised font-medium text-ink shadow-sm' : 'text-soft hover:text-ink',
      )}
    >
      {label}
    </button>
  )
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form.
    <span role="group" aria-label={t.preview.view} className="inline-flex shrink-0 rounded-lg bg-sunken p-0.5">
      {mode(t.preview.preview, !isSource, false)}
      {mode(source, isSource, true)}
    </span>
  )
}

const wide = '(min-width: 1024px)'

function subscribeWide(listener: () => void): () => void {
  const query = matchMedia(wide)
  query.addEventListener('change', listener)
  return () => query.removeEventListener('change', listener)
}

/** Beside the screen where there is room, otherwise over it. */
export function PreviewPane({ source }: { source: PreviewSource }) {
  const isWide = useSyncExternalStore(subscribeWide, () => matchMedia(wide).matches)
  return isWide ? <SidePane source={source} /> : <Sheet source={source} />
}

function SidePane({ source }: { source: PreviewSource }) {
  const pane = useRef<HTMLElement>(null)
  const { width, onDrag, onKey, onEnd, reset, isDragging, limits } = usePaneWidth(pane)
  useEffect(() => pane.current?.focus(), [])

  useEffect(() => {
    function onEscape(event: globalThis.KeyboardEvent): void {
      if (event.key !== 'Escape' || event.defaultPrevented) return
      const focused = document.activeElement
      // In the message field it stops the reply; dialogs and menus close themselves.
      if (pane.current?.contains(focused) || focused === document.body) closePreview()
    }
    window.addEventListener('keydown', onEscape)
    return () => window.removeEventListener('keydown', onEscape)
  }, [])

  return (
    <aside
      ref={pane}
      data-preview
      tabIndex={-1}
      aria-label={t.preview.preview}
      className="relative flex shrink-0 flex-col border-s border-line bg-raised outline-none"
      style={{ width }}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: a line that can be moved is no <hr>. */}
      <div
        role="separator"
        aria-orientation="vertical"
        aria-label={t.preview.resize}
        aria-valuenow={Math.round(width)}
        aria-valuemin={limits.least}
        aria-valuemax={limits.most}
        tabIndex={0}
        onPointerDown={onDrag}
        onPointerUp={onEnd}
        onPointerCancel={onEnd}
        onDoubleClick={reset}
        onKeyDown={onKey}
        className="absolute inset-y-0 -start-1 z-10 w-2 cursor-col-resize touch-none hover:bg-accent/40 focus-visible:bg-accent/40"
      />
      {/* A frame would take the pointer while the width is dragged. */}
      <div className={classes('flex min-h-0 flex-1 flex-col', isDragging && 'pointer-events-none')}>
        <Content source={source} title={(name) => <h2 className="truncate font-medium">{name}</h2>} />
      </div>
    </aside>
  )
}

const widthKey = 'familiar.preview_width'
const least = 320
/** The conversation beside the pane stays usable. */
const leastBeside = 340

function usePaneWidth(pane: { current: HTMLElement | null }) {
  const [room, setRoom] = useState(() => roomFor(pane.current))
  const [wanted, setWanted] = useState<number | null>(() => Number(localStorage.getItem(widthKey)) || null)
  const [isDragging, setDragging] = useState(false)
  const drag = useRef<AbortController>(undefined)
  useEffect(() => {
    const measure = () => setRoom(roomFor(pane.current))
    measure()
    window.addEventListener('resize', measure)
    return () => window.removeEventListener('resize', measure)
  }, [pane])
  const most = Math.max(room - leastBeside, least)
  const clamp = (width: number) => Math.min(Math.max(width, least), most)
  const width = clamp(wanted ?? room / 2)

  const keep = useCallback((next: number | null) => {
    setWanted(next)
    if (next === null) localStorage.removeItem(widthKey)
    else localStorage.setItem(widthKey, String(Math.round(next)))
  }, [])

  function onDrag(event: PointerEvent<HTMLElement>): void {
    if (event.button !== 0) return
    const { currentTarget, pointerId, clientX } = event
    event.preventDefault()
    currentTarget.focus()
    currentTarget.setPointerCapture(pointerId)
    setDragging(true)
    // At the other side in languages that are written from right to left.
    const sign = getComputedStyle(currentTarget).direction === 'rtl' ? -1 : 1
    const move = (moved: globalThis.PointerEvent) => setWanted(clamp(width + (clientX - moved.clientX) * sign))
    drag.current = new AbortController()
    const { signal } = drag.current
    currentTarget.addEventListener('pointermove', move, { signal })
  }

  function onEnd(): void {
    drag.current?.abort()
    setDragging(false)
    if (wanted !== null) keep(clamp(wanted))
  }

  function onKey(event: KeyboardEvent<HTMLElement>): void {
    const isRtl = getComputedStyle(event.currentTarget).direction === 'rtl'
    const wider = isRtl ? 'ArrowRight' : 'ArrowLeft'
    const narrower = isRtl ? 'ArrowLeft' : 'ArrowRight'
    const next = { [wider]: width + 32, [narrower]: width - 32, Home: most, End: least }[event.key]
    if (next === undefined) return
    event.preventDefault()
    keep(clamp(next))
  }

  return { width, onDrag, onEnd, onKey, reset: () => keep(null), isDragging, limits: { least, most } }
}

/** The width of the screen and the pane together. */
function roomFor(pane: HTMLElement | null): number {
  const beside = pane?.previousElementSibling
  return beside && pane ? beside.clientWidth + pane.offsetWidth : Math.max(window.innerWidth - 288, least + leastBeside)
}

function Sheet({ source }: { source: PreviewSource }) {
  return (
    <Primitive.Root open onOpenChange={(open) => !open && closePreview()}>
      <Primitive.Portal>
        <Primitive.Content
          data-preview
          aria-describedby={undefined}
          // The page gives the focus back itself.
          onCloseAutoFocus={(event) => event.preventDefault()}
          className="fixed inset-0 z-40 flex flex-col bg-raised pb-[env(safe-area-inset-bottom)] outline-none"
        >
          <Content
            source={source}
            title={(name) => <Primitive.Title className="truncate font-medium">{name}</Primitive.Title>}
          />
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  )
}
