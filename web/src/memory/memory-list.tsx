import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import type { MemoryReply } from '../../../src/protocol/memory.ts'
import { call, type Input } from '../api/call.ts'
import { Button } from '../components/controls.tsx'
import type { Choice } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { go, Link } from '../shell/router.tsx'
import { formatDate } from '../strings/format.ts'
import { t } from '../strings/strings.ts'

export const showDay = (time: string) => read(time, { dateStyle: 'medium' })
export const formatLongDay = (time: string) => read(time, { dateStyle: 'full' })
export const showMoment = (time: string) => read(time)
const formatHour = (time: string) => read(time, { timeStyle: 'short' })

/** An imported memory may have an invalid date, which is shown as it is. */
function read(time: string, format?: Intl.DateTimeFormatOptions): string {
  const at = Date.parse(time)
  return Number.isNaN(at) ? time : formatDate(at, format)
}

/** `2026-11-15` in the browser's time zone. */
export function dayKey(time: string | Date): string {
  const at = new Date(time)
  if (Number.isNaN(at.getTime())) return String(time).slice(0, 10)
  const two = (part: number) => String(part).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}

/** The start of the day that many days ago, in ISO 8601. */
export function startOfDayIso(daysBack = 0, now = new Date()): string {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysBack).toISOString()
}

/** Marks a memory from an untrusted source. */
export function UntrustedMark() {
  return (
    <span
      title={t.memory.untrustedSourceNeverFollowed}
      className="inline-flex items-center gap-1 rounded bg-warn-soft px-1.5 text-warn"
    >
      <Icon name="shield" size={12} /> {t.memory.untrusted}
    </span>
  )
}

export type Kind = MemoryReply['kind']

/** Labels for the fields of a memory. */
export const memoryKindNames: Record<Kind, string> = {
  note: t.memory.note,
  fact: t.memory.fact,
  episode: t.memory.episode,
  commitment: t.memory.commitment,
  chunk: t.memory.passage,
}
export const sourceNames: Record<MemoryReply['source'], string> = {
  user: t.memory.youWroteIt,
  agent: t.memory.familiarWroteIt,
  extracted: t.memory.learnedFromConversation,
  tool: t.memory.fromATool,
  import: t.memory.imported,
}
export const retentionNames: Record<MemoryReply['tier'], string> = {
  long_term: t.memory.longTerm,
  short_term: t.memory.shortTerm,
}

/** Familiar stores the user's name as "user". */
export function shownContent({ kind, content }: Pick<MemoryReply, 'kind' | 'content'>): string {
  if (kind === 'fact') return content.replace(/^user: /, 'You: ')
  return kind === 'commitment' ? content.replace(/^user owes\b/, t.memory.youOwe) : content
}

const marks: [pattern: RegExp, text: string][] = [
  [/^ {0,3}(?:#{1,6}|>) +/gm, ''],
  [/(\*\*|~~)(?=\S)([^*~\n]{1,500}?)(?<=\S)\1/g, '$2'],
  [/(?<![\w*])\*(?=[^\s*])([^*\n]{1,500}?)(?<=[^\s*])\*(?![\w*])/g, '$1'],
  [/`([^`\n]{1,500})`/g, '$1'],
  [/\[([^\][\n]{1,500})\]\(https?:[^\s()]{1,2000}\)/g, '$1'],
]

/** Text for one paragraph of a list, without the marks of Markdown that only make sense in a whole text. */
export function withoutMarks(text: string): string {
  return marks.reduce((plain, [pattern, rest]) => plain.replaceAll(pattern, rest), text)
}

export const kindChoices = choices(memoryKindNames)
export const sourceChoices = choices(sourceNames)
export const retentionChoices = choices(retentionNames)

function choices(names: Record<string, string>): Choice[] {
  return [{ value: '', label: t.memory.any }, ...Object.entries(names).map(([value, label]) => ({ value, label }))]
}

/** One memory in a list: its start and its kind. */
export function MemoryListItem(props: {
  memory: MemoryReply
  showsHour?: boolean
  actions?: ReactNode
  children?: ReactNode
}) {
  const { memory, showsHour = false, actions, children } = props
  const { id, kind, title, source, tier, label, tags, created_at, file } = memory
  return (
    <li className="border-b border-line py-3 last:border-b-0 [content-visibility:auto] [contain-intrinsic-size:auto_5rem]">
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <Link
            href={`/memory/${encodeURIComponent(id)}`}
            dir="auto"
            className="line-clamp-3 underline-offset-4 hover:text-accent hover:underline"
          >
            {title && <span className="font-medium">{title}: </span>}
            {withoutMarks(shownContent(memory))}
          </Link>
          <p className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-soft">
            <span className="font-medium text-ink">{memoryKindNames[kind]}</span>
            <time dateTime={created_at}>{showsHour ? formatHour(created_at) : showDay(created_at)}</time>
            <span>{file ? file.path : sourceNames[source]}</span>
            {tier === 'short_term' && <span>{retentionNames[tier]}</span>}
            {label === 'untrusted' && <UntrustedMark />}
            {tags.map((tag) => (
              <span key={tag} className="rounded bg-sunken px-1.5">
                {tag}
              </span>
            ))}
          </p>
        </div>
        {actions}
      </div>
      {children}
    </li>
  )
}

/** The end of a list with more pages: the next one loads when it comes into view, or by the button. */
export function LoadMore({ isLoading, onMore }: { isLoading: boolean; onMore(): void }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current
    if (!element || isLoading) return
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) onMore()
      },
      { rootMargin: '600px' },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [isLoading, onMore])
  return (
    <div ref={place} className="py-4 text-center">
      <Button kind="quiet" isBusy={isLoading} onClick={onMore}>
        {isLoading ? t.common.loading : t.memory.showMore}
      </Button>
    </div>
  )
}

interface Pages {
  memories: readonly MemoryReply[]
  /** Null on the last page; undefined before the first. */
  cursor: string | null | undefined
  error?: Error
}

const none: Pages = { memories: [], cursor: undefined }
const pageSize = 50

/** The list of memories, page after page, newest first. */
export function useMemoryPages(query: Input<'memories.list'>) {
  const [pages, setPages] = useState(none)
  const [isLoading, setIsLoading] = useState(true)
  const [turn, setTurn] = useState(0)
  const key = JSON.stringify(query)
  /** Aborts requests for another list. */
  const current = useRef(new AbortController())

  const load = useCallback(
    async (cursor: string | undefined, signal: AbortSignal) => {
      const wanted = JSON.parse(key) as Input<'memories.list'>
      setIsLoading(true)
      try {
        const page = await call('memories.list', { ...wanted, limit: pageSize, cursor }, { signal })
        setPages(({ memories }) => ({
          memories: cursor === undefined ? page.memories : [...memories, ...page.memories],
          cursor: page.next_cursor,
        }))
        setIsLoading(false)
      } catch (error) {
        if (signal.aborted) return
        setPages((before) => ({ ...before, error: error instanceof Error ? error : new Error(String(error)) }))
        setIsLoading(false)
      }
    },
    [key],
  )

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` is what asks again.
  useEffect(() => {
    const controller = new AbortController()
    current.current = controller
    void load(undefined, controller.signal)
    return () => controller.abort()
  }, [load, turn])

  const more = useCallback(() => {
    if (!isLoading && pages.cursor) void load(pages.cursor, current.current.signal)
  }, [isLoading, pages.cursor, load])
  const refresh = useCallback(() => setTurn((before) => before + 1), [])
  const remove = useCallback(
    (id: string) => setPages((all) => ({ ...all, memories: all.memories.filter((memory) => memory.id !== id) })),
    [],
  )
  return {
    memories: pages.memories,
    error: pages.error,
    // After a failure only the button loads: coming into view would retry without end.
    hasMore: Boolean(pages.cursor) && !pages.error,
    isLoading,
    more,
    refresh,
    remove,
  }
}

/** The address of the screen with these changed behind its question mark; an empty one is left out. */
export function withQuery(query: URLSearchParams, changes: Readonly<Record<string, string>>): string {
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') next.delete(name)
    else next.set(name, value)
  }
  const search = next.toString()
  return search === '' ? '/memory' : `/memory?${search}`
}

/** Puts the filters into the address. Typing replaces the entry in the history, so that Back leaves the screen. */
export function setQuery(query: URLSearchParams, changes: Readonly<Record<string, string>>): void {
  go(withQuery(query, changes), { replace: true })
}

interface MemoryDay {
  key: string
  memories: MemoryReply[]
}

/** In the order given: newest first stays newest first. */
export function byDay(memories: readonly MemoryReply[]): MemoryDay[] {
  const days: MemoryDay[] = []
  for (const memory of memories) {
    const key = dayKey(memory.created_at)
    const last = days.at(-1)
    if (last?.key === key) last.memories.push(memory)
    else days.push({ key, memories: [memory] })
  }
  return days
}
