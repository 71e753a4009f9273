import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Json } from '../../src/protocol/messages.ts'

/** One reply of the HTTP API or one output of the command line, as it is kept in a file. */
export interface Entry {
  /** `POST /api/v1/schedules` or `familiar schedule list --json`. */
  ask: string
  body?: unknown
  status?: number
  /** The media type where it is not JSON. */
  type?: string
  reply: unknown
  /** Of a command that ended with an error. */
  failed?: true
}

const isRecording = process.env.FAMILIAR_RECORD === '1'

const id = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const token = /(?<![A-Za-z0-9_-])(?:fam_|page_)?[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/g
const shortId = /(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/g
const pairingCode = /(^|start=)[A-Z0-9]{8}$/
const address = /(127\.0\.0\.1|\[::1\]|localhost):\d+/g
const time = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z/g

/** Numbers that differ from run to run, by the names they have on the wire. */
const measured = /^(duration_ms|median_ms|uptime_seconds|database_bytes|pid|modified_at|created|expires_at_unix)$/

/**
 * Makes what a run produced comparable with another run: ids, tokens, addresses and folders become placeholders. The order
 * of keys stays, because clients may rely on it.
 */
export function createNormalizer(folders: Record<string, string>, options: { times: boolean }) {
  const numbers = new Map<string, string>()
  const paths = Object.entries(folders).sort(([, a], [, b]) => b.length - a.length)

  function text(value: string): string {
    let result = value
    for (const [name, path] of paths) {
      result = result.replaceAll(path, `<${name}>`).replaceAll(encodeURIComponent(path), `<${name}>`)
    }
    result = result.replaceAll(id, (found) => {
      if (!numbers.has(found)) numbers.set(found, `<id ${numbers.size + 1}>`)
      return numbers.get(found) ?? ''
    })
    // Hashes and entity tags have another alphabet or another length.
    result = result.replaceAll(token, (found) => (/^[0-9a-f]+$/.test(found) ? found : '<token>'))
    result = result.replaceAll(shortId, '<short id>').replace(pairingCode, '$1<code>').replaceAll(address, '<address>')
    return options.times ? result.replaceAll(time, '<time>') : result
  }

  function value(given: unknown, key = ''): unknown {
    if (typeof given === 'string') return measured.test(key) ? '<string>' : text(given)
    if (typeof given === 'number') return measured.test(key) ? '<number>' : given
    if (Array.isArray(given)) return given.map((item) => value(item))
    if (given === null || typeof given !== 'object') return given
    return Object.fromEntries(Object.entries(given).map(([name, inner]) => [text(name), value(inner, name)]))
  }

  return { text, value }
}

/** Names and types alone, for what differs from machine to machine. */
export function shapeOf(given: unknown): unknown {
  if (Array.isArray(given)) return given.slice(0, 1).map(shapeOf)
  if (given === null || typeof given !== 'object') return given === null ? 'null' : typeof given
  return Object.fromEntries(Object.entries(given).map(([name, inner]) => [name, shapeOf(inner)]))
}

/** The events of a stream without its comments, or the text itself where it is something else. */
export function readReply(body: string, mediaType: string): unknown {
  if (mediaType.startsWith('application/json')) return body === '' ? '' : (JSON.parse(body) as Json)
  if (!mediaType.startsWith('text/event-stream')) return body
  return body
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) =>
      block.split('\n').map((line) => {
        const data = /^data: (.*)$/s.exec(line)?.[1]
        return data?.startsWith('{') ? (JSON.parse(data) as Json) : line
      }),
    )
}

/** Compares with what the file holds, one reply a line, to the byte. `FAMILIAR_RECORD=1` writes the file. */
export function compare(name: string, recorded: readonly unknown[]): void {
  const file = join(import.meta.dirname, `${name}.jsonl`)
  const now = `${recorded.map((entry) => JSON.stringify(entry)).join('\n')}\n`
  if (isRecording) writeFileSync(file, now)
  else
    expect(now, `${name}.jsonl: FAMILIAR_RECORD=1 writes it`).toBe(existsSync(file) ? readFileSync(file, 'utf8') : '')
}
