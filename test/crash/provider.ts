import { once } from 'node:events'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { RecordedRequest } from '../support/fake-model/recorded-request.ts'
import { spawnOwned } from './spawn-owned.ts'

const program = join(import.meta.dirname, '..', 'support', 'fake-model', 'main.ts')
const script = join(import.meta.dirname, 'respond.ts')

/** The fake model in a process of its own, which outlives every daemon that it serves. */
export interface Provider {
  url: string
  /** Requests of the daemon with this key. */
  callsOf(key: string): { requests: number; rejections: string[] }
  stop(): Promise<void>
}

export async function startProvider(options: { folder: string; chunkDelayMs?: number }): Promise<Provider> {
  const requestsFile = join(options.folder, 'requests.jsonl')
  const pace = options.chunkDelayMs === undefined ? [] : ['--chunk-delay-ms', String(options.chunkDelayMs)]
  const child = spawnOwned([program, '--default', script, '--requests-file', requestsFile, ...pace], {})
  child.stderr.pipe(process.stderr)
  const [line] = await once(createInterface(child.stdout), 'line')
  const { url }: { url: string } = JSON.parse(line)
  const calls = new Map<string, { requests: number; rejections: string[] }>()
  const readNew = followLines(requestsFile)
  return {
    url,
    callsOf(key) {
      for (const text of readNew()) {
        const request: RecordedRequest = JSON.parse(text)
        const own = calls.get(keyOf(request)) ?? { requests: 0, rejections: [] }
        own.requests += 1
        if (request.rejection !== undefined) own.rejections.push(`${request.wire}: ${request.rejection}`)
        calls.set(keyOf(request), own)
      }
      return calls.get(key) ?? { requests: 0, rejections: [] }
    },
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'close')
    },
  }
}

function keyOf({ headers }: RecordedRequest): string {
  return String(headers['x-api-key'] ?? headers.authorization?.replace(/^Bearer /, '') ?? '')
}

/** Each call returns the lines that were written since the one before: the file grows to many megabytes. */
function followLines(path: string): () => string[] {
  let offset = 0
  return () => {
    const file = openSync(path, 'r')
    try {
      const bytes = Buffer.alloc(fstatSync(file).size - offset)
      readSync(file, bytes, 0, bytes.length, offset)
      const end = bytes.lastIndexOf(10) + 1
      offset += end
      return bytes
        .subarray(0, end)
        .toString()
        .split('\n')
        .filter((line) => line !== '')
    } finally {
      closeSync(file)
    }
  }
}
