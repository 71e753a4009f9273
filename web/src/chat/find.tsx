import { type ReactNode, useEffect, useState } from 'react'
import type { FoundReply, SearchKind } from '../../../src/protocol/search.ts'
import { call } from '../api/call.ts'
import type { IconName } from '../components/icon.tsx'
import { t } from '../strings/strings.ts'

const debounceMs = 120

/**
 * The results of the daemon while the user types. Earlier results stay until new ones
 * come, so that the list does not flicker.
 */
export function useFound(query: string, options: { kinds?: readonly SearchKind[]; limit: number }) {
  const kinds = options.kinds?.join(',')
  const { limit } = options
  const wanted = query.trim()
  // One letter says nothing, but one character of Chinese is a word.
  const isSearch = (wanted.length > 1 || /[^\p{ASCII}]/u.test(wanted)) && !wanted.startsWith('/')
  const [state, setState] = useState<{ query: string; found: readonly FoundReply[] }>({ query: '', found: [] })
  useEffect(() => {
    if (!isSearch) return setState({ query: '', found: [] })
    const controller = new AbortController()
    const timer = setTimeout(() => {
      // A space at the end says that the last word is complete.
      const input = { q: wanted, typing: !query.endsWith(' '), limit, ...(kinds !== undefined && { kinds }) }
      call('search.everything', input, { signal: controller.signal }).then(
        ({ found }) => setState({ query: wanted, found }),
        () => undefined,
      )
    }, debounceMs)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [query, wanted, isSearch, kinds, limit])
  return { found: isSearch ? state.found : [], isSearching: isSearch && state.query !== wanted }
}

/** A text with its matches marked. */
export function Marked({ text, marks }: FoundReply['snippet']) {
  const parts: ReactNode[] = []
  let at = 0
  for (const [start = 0, end = 0] of marks) {
    parts.push(text.slice(at, start), <mark key={start}>{text.slice(start, end)}</mark>)
    at = end
  }
  return (
    <>
      {parts}
      {text.slice(at)}
    </>
  )
}

/** The address of the place where something was found; undefined for a file, which opens above the page. */
export function addressOf({ kind, id, message, words, tool }: FoundReply): string | undefined {
  const name = encodeURIComponent(id)
  switch (kind) {
    case 'conversation':
      return `/talk/${name}`
    case 'message': {
      const query = new URLSearchParams()
      if (message?.id) query.set('message', message.id)
      else if (message?.turn) query.set('turn', message.turn)
      for (const word of words) query.append('word', word)
      return `/talk/${name}?${query}`
    }
    case 'memory':
      return `/memory/${name}`
    case 'note':
      return `/blocks/${name}`
    case 'tool':
      return tool === 'built' ? `/capabilities/${name}` : `/toolbox/${name}`
    case 'schedule':
      return `/schedules/${name}`
    case 'setting':
      return addressOfSetting(id)
    case 'file':
      return undefined
  }
}

/** The section of the settings that has a field for a key. The others are listed under Configuration. */
const settingSections: Readonly<Record<string, string>> = {
  'agent.name': '/settings',
  'policy.mode': '/settings/permissions',
  'policy.approval_minutes': '/settings/permissions',
  'capabilities.repair': '/settings/permissions',
  'tools.enabled': '/settings/permissions',
  'memory.conversations': '/settings/memory',
  'memory.extraction': '/settings/memory',
  'memory.embedding.provider': '/settings/memory',
  'voice.transcription.provider': '/settings/voice',
}

/** The settings with a field, by the label that the page shows. */
export const labelledSettings: readonly { key: string; label: string }[] = [
  { key: 'agent.name', label: t.options.agentName },
  { key: 'policy.mode', label: t.options.mode },
  { key: 'policy.approval_minutes', label: t.options.approvalMinutes },
  { key: 'capabilities.repair', label: t.options.repair },
  { key: 'tools.enabled', label: t.options.useTools },
  { key: 'memory.conversations', label: t.options.conversations },
  { key: 'memory.extraction', label: t.options.extraction },
  { key: 'memory.embedding.provider', label: t.options.embedding },
  { key: 'voice.transcription.provider', label: t.options.voiceOfDaemon },
]

export function addressOfSetting(key: string): string {
  return `${settingSections[key] ?? '/settings/configuration'}?setting=${encodeURIComponent(key)}`
}

export const kindIcons: Readonly<Record<SearchKind, IconName>> = {
  conversation: 'talk',
  message: 'talk',
  memory: 'brain',
  note: 'block',
  file: 'book',
  tool: 'tool',
  schedule: 'calendar',
  setting: 'gear',
}

const name = 'found'

/**
 * Marks words in an element without changing it: what React has drawn stays as it is. Returns the first place. A browser
 * without highlights shows none.
 */
export function highlightWords(root: Element | null, words: readonly string[]): Range | undefined {
  if (!('highlights' in CSS)) return undefined
  CSS.highlights.delete(name)
  const pattern = wordPattern(words)
  if (!root || !pattern) return undefined
  const ranges: Range[] = []
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement?.closest('.sr-only, button')) continue
    for (const { 0: found, index } of (node.nodeValue ?? '').matchAll(pattern)) {
      const range = new Range()
      range.setStart(node, index)
      range.setEnd(node, index + found.length)
      ranges.push(range)
    }
  }
  if (ranges.length > 0) CSS.highlights.set(name, new Highlight(...ranges))
  return ranges[0]
}

const letters = /[^\p{L}\p{N}\p{M}]/gu
const unspaced =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u

/** Whole words, whatever their case; in a script without spaces also parts of a run. */
export function wordPattern(words: readonly string[]): RegExp | undefined {
  const forms = words.map((word) => word.replaceAll(letters, '')).filter(Boolean)
  if (forms.length === 0) return undefined
  const alternatives = forms
    .toSorted((one, other) => other.length - one.length)
    .map((form) => (unspaced.test(form) ? form : `(?<![\\p{L}\\p{N}])${form}(?![\\p{L}\\p{N}\\p{M}])`))
  return new RegExp(alternatives.join('|'), 'giu')
}
