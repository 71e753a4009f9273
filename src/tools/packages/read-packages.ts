import { inflateSync } from 'node:zlib'
import { z } from 'zod'
import { type Parsed, parseJson } from '../../base/json.ts'

const entrySchema = z.union([
  z.object({ path: z.string(), size: z.int().min(0), packed: z.int().min(0) }),
  z.object({ end: z.literal(true) }),
  z.object({ error: z.string() }),
])

const newline = 0x0a
const longestHeader = 4_096
const mostBytes = 512 * 1024 ** 2
const mostFiles = 50_000
// One way to write each path: no `..`, no absolute one, no empty step, nothing that is not seen.
const plainPath = /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[^/\p{C}\\][^\p{C}\\]{0,500}$/u

/** What the build wrote out, to files. It comes out of a sandbox and is foreign: nothing of it is believed unchecked. */
export function readPackages(output: Uint8Array): Parsed<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>()
  let total = 0
  for (let at = 0; at < output.length; ) {
    const end = output.subarray(at, at + longestHeader).indexOf(newline)
    if (end === -1) return wrong('a line is missing')
    const header = parseJson(new TextDecoder().decode(output.subarray(at, at + end)), entrySchema)
    if (!header.ok) return wrong(header.message)
    at += end + 1
    if ('error' in header.value) return { ok: false, message: header.value.error }
    if ('end' in header.value)
      return at === output.length ? { ok: true, value: files } : wrong('there is more after its end')
    const { path, size, packed } = header.value
    total += size
    if (!plainPath.test(path) || path.includes('//') || path.endsWith('/')) return wrong('a path leads elsewhere')
    if (total > mostBytes || files.size >= mostFiles) return wrong('it is too large')
    const content = inflate(output.subarray(at, at + packed), size)
    if (!content || at + packed > output.length) return wrong(`${path} is not whole`)
    files.set(path, content)
    at += packed
  }
  return wrong('its end is missing')
}

function inflate(packed: Uint8Array, size: number): Uint8Array | undefined {
  try {
    const content = inflateSync(packed, { maxOutputLength: Math.max(1, size) })
    return content.length === size ? content : undefined
  } catch {
    return undefined
  }
}

function wrong(message: string): { ok: false; message: string } {
  return { ok: false, message: `The packages that were built cannot be read: ${message}` }
}
