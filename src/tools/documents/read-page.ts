import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { ChildOutcome, RunChild } from '../../base/processes.ts'
import { createTurnstile } from '../../base/work.ts'
import type { DocumentKind } from './foreign-text.ts'

/** The first line of the reading process's input; the document's bytes follow it. */
export interface PageTask {
  kind: DocumentKind
  contentType: string
  address: string
  maxCharacters: number
}

/** Converts an untrusted document to text in a separate process, within limits, so that it cannot harm this one. */
export type ReadPage = (
  document: Omit<PageTask, 'maxCharacters'> & { bytes: Uint8Array },
  signal: AbortSignal,
) => Promise<ReadDocument>

const answerSchema = z.discriminatedUnion('ok', [
  z.object({
    ok: z.literal(true),
    title: z.string(),
    text: z.string(),
    isCut: z.boolean(),
    pages: z.object({ read: z.number(), total: z.number() }).optional(),
  }),
  z.object({ ok: z.literal(false), message: z.string() }),
])

type ReadDocument = z.infer<typeof answerSchema> & { timedOut?: true }

const root = fileURLToPath(new URL('../../../', import.meta.url))
const script = fileURLToPath(new URL('./page-child.ts', import.meta.url))
// A package's dependencies may be beside it instead of inside.
const code = basename(dirname(root)) === 'node_modules' ? dirname(root) : root

const wallMs = 20_000
const maxCharacters = 500_000
const maxAtOnce = 2
const heapMegabytes = 512
/** Limits the writable memory, including the half gigabyte that Node reserves unused. Only enforced on Linux. */
const dataKilobytes = 1_500_000

// Its permissions: reading this program's code and no other file, and starting nothing. The network is not restricted,
// but this reduces the effect of most parser bugs.
const flags = [
  '--permission',
  `--allow-fs-read=${code}`,
  `--max-old-space-size=${heapMegabytes}`,
  '--disable-warning=ExperimentalWarning',
]

export function createReadPage({ runChild }: { runChild: RunChild }): ReadPage {
  const turnstile = createTurnstile(maxAtOnce)
  return ({ bytes, ...task }, signal) =>
    turnstile(async () => {
      const outcome = await runChild({
        argv: ['/bin/sh', '-c', `ulimit -d ${dataKilobytes}; exec "$@"`, 'sh', process.execPath, ...flags, script],
        environment: {},
        workingDirectory: root,
        stdin: Buffer.concat([Buffer.from(`${JSON.stringify({ ...task, maxCharacters })}\n`), bytes]),
        // A character in JSON takes at most six bytes.
        limits: { wallMs, outputBytes: maxCharacters * 6 + 10_000 },
        signal,
      })
      return readAnswer(outcome)
    })
}

function readAnswer({ end, stdout }: ChildOutcome): ReadDocument {
  if (end.kind === 'timed_out') return { ok: false, message: 'reading it took too long', timedOut: true }
  if (end.kind !== 'exited' || end.code !== 0) return { ok: false, message: 'it is too large or too damaged to read' }
  const lastLine = Buffer.from(stdout).toString().trimEnd().split('\n').at(-1) ?? ''
  const answer = parseJson(lastLine, answerSchema)
  return answer.ok ? answer.value : { ok: false, message: 'it could not be read' }
}
