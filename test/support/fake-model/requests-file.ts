import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { RecordedRequest } from './recorded-request.ts'

/** One line of JSON for a request, on disk before the request is answered. */
export interface RequestsFile {
  append(request: RecordedRequest): void
  close(): void
}

export function openRequestsFile(path: string): RequestsFile {
  const file = openSync(path, 'a')
  return {
    append({ body: _body, ...request }) {
      writeSync(file, `${JSON.stringify(request)}\n`)
      fdatasyncSync(file)
    },
    close: () => closeSync(file),
  }
}

/** A last line without its end was never acknowledged to anyone and is left out. */
export function readRequestsFile(path: string): RecordedRequest[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const request: RecordedRequest = JSON.parse(line)
      return { ...request, body: parseBody(request.bytes) }
    })
}

function parseBody(bytes: string): RecordedRequest['body'] {
  try {
    return JSON.parse(bytes)
  } catch {
    return {}
  }
}
