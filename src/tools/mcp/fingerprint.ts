import { sha256 } from '../../base/hash.ts'
import { canonicalJson } from '../../base/json.ts'
import { identityOf, type McpServerSettings } from './server-settings.ts'
import type { ListedTool } from './tool-listing.ts'

/** What the owner's word is given for: the server, and every tool's name, words, schemas and hints. */
export function fingerprintOf(settings: McpServerSettings, tools: readonly ListedTool[]): string {
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1))
  return sha256(canonicalJson({ server: identityOf(settings), tools: sorted }))
}

/** What is different now, a line for each part of it: what was taken away with `-`, what came with `+`. */
export function describeChanges(before: readonly ListedTool[], now: readonly ListedTool[]): string[] {
  const old = new Map(before.map((tool) => [tool.name, tool]))
  const added = now
    .filter((tool) => !old.has(tool.name))
    .map((tool) => `added ${tool.name}: ${oneLine(tool.description)}`)
  const removed = before
    .filter((tool) => !now.some(({ name }) => name === tool.name))
    .map((tool) => `removed ${tool.name}`)
  const changed = now.flatMap((tool) => {
    const was = old.get(tool.name)
    return was ? describeTool(was, tool) : []
  })
  return [...added, ...removed, ...changed]
}

const parts = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

function describeTool(was: ListedTool, is: ListedTool): string[] {
  return parts.flatMap((part) => {
    const [before, now] = [shown(was[part]), shown(is[part])]
    if (before === now) return []
    return [`changed ${is.name}, its ${part}:`, ...changedPart('-', before, now), ...changedPart('+', now, before)]
  })
}

/** Only around what differs: a schema may be long. */
function changedPart(sign: string, text: string, other: string): string[] {
  if (text === '') return []
  let start = 0
  while (start < text.length && text[start] === other[start]) start += 1
  let end = 0
  const most = Math.min(text.length, other.length) - start
  while (end < most && text.at(-1 - end) === other.at(-1 - end)) end += 1
  const from = Math.max(0, start - context)
  const to = Math.min(text.length, text.length - end + context)
  const piece = oneLine(text.slice(from, Math.min(to, from + mostShown)))
  return [`  ${sign} ${from > 0 ? '… ' : ''}${piece}${to < text.length || to > from + mostShown ? ' …' : ''}`]
}

const context = 40
const mostShown = 600

function shown(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : canonicalJson(value)
}

function oneLine(text = ''): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
