import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import type { ChildOutcome, RunChild } from '../../../base/run-child.ts'
import { createTurnstile } from '../../../base/turnstile.ts'
import type { PageTask } from './page-task.ts'

type ReadDocument = { ok: true; title: string; text: string } | { ok: false; message: string; timedOut?: true }

/** A document of anybody to text. Whatever is in it, this process lives on: it is read in another one, within limits. */
export type ReadPage = (
  document: Omit<PageTask, 'mostCharacters'> & { bytes: Uint8Array },
  signal: AbortSignal,
) => Promise<ReadDocument>

const answerSchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), title: z.string(), text: z.string(), isCut: z.boolean() }),
  z.object({ ok: z.literal(false), message: z.string() }),
])

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const script = fileURLToPath(new URL('./page-child.ts', import.meta.url))
// What a package depends on may have been put beside it instead of into it.
const code = basename(dirname(root)) === 'node_modules' ? dirname(root) : root

const wallMs = 20_000
const mostCharacters = 500_000
const mostAtOnce = 2
const heapMegabytes = 512
/** Of all that it writes to, the half gigabyte that Node sets aside unused included. Only Linux holds a process to it. */
const dataKilobytes = 1_500_000

// Its own rights: it may read this program's code and nothing else of the disk, and start nothing. It is no wall (the
// network is left to it), but it takes the worth out of most mistakes of a parser.
const flags = [
  '--permission',
  `--allow-fs-read=${code}`,
  `--max-old-space-size=${heapMegabytes}`,
  '--disable-warning=ExperimentalWarning',
]

export function createReadPage({ runChild }: { runChild: RunChild }): ReadPage {
  const turnstile = createTurnstile(mostAtOnce)
  return ({ bytes, ...task }, signal) =>
    turnstile(async () => {
      const outcome = await runChild({
        argv: ['/bin/sh', '-c', `ulimit -d ${dataKilobytes}; exec "$@"`, 'sh', process.execPath, ...flags, script],
        environment: {},
        workingDirectory: root,
        stdin: Buffer.concat([Buffer.from(`${JSON.stringify({ ...task, mostCharacters })}\n`), bytes]),
        // A character of JSON is six bytes at most.
        limits: { wallMs, outputBytes: mostCharacters * 6 + 10_000 },
        signal,
      })
      return readAnswer(outcome)
    })
}

function readAnswer({ end, stdout }: ChildOutcome): ReadDocument {
  if (end.kind === 'timed_out') return { ok: false, message: 'reading it took too long', timedOut: true }
  if (end.kind !== 'exited' || end.code !== 0) return { ok: false, message: 'it is too large or too broken to read' }
  const lastLine = Buffer.from(stdout).toString().trimEnd().split('\n').at(-1) ?? ''
  const answer = parseJson(lastLine, answerSchema)
  if (!answer.ok) return { ok: false, message: 'it could not be read' }
  if (!answer.value.ok) return answer.value
  const { title, text, isCut } = answer.value
  return { ok: true, title, text: isCut ? `${text}\n[It goes on; only this much was read.]` : text }
}
