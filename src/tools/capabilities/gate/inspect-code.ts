import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import { type Sandbox, SandboxUnavailable } from '../../../sandbox/sandbox.ts'
import type { CapabilityExample, CapabilityFiles, CapabilityManifest } from '../capability.ts'

const answerSchema = z.object({ problems: z.array(z.string()) })
const limits = {
  memoryBytes: 256 * 1024 ** 2,
  processes: 32,
  wallMs: 20_000,
  outputBytes: 1024 ** 2,
  scratchBytes: 1024 ** 2,
}
const readers = {
  python: { argv: ['python3'], file: 'inspect-code.py', isCode: /\.py$/ },
  node: {
    argv: ['node', '--no-warnings', '--experimental-vm-modules'],
    file: 'inspect-code.mjs',
    isCode: /\.[cm]?js$/,
  },
} as const
const place = '/capability'

/**
 * What is wrong with the code, told by a parser of its own language in a sandbox without a network. Nothing of it runs:
 * whether there is a `run` that takes one or two arguments is read, as far as reading tells.
 */
export async function inspectCode(
  draft: {
    /** Holds the files. */
    directory: string
    files: CapabilityFiles
    manifest: CapabilityManifest
    examples: readonly CapabilityExample[]
  },
  { sandbox, signal }: { sandbox: Sandbox; signal: AbortSignal },
): Promise<string[]> {
  const { argv, file, isCode } = readers[draft.manifest.runtime]
  const [program, ...options] = argv
  const patterns = draft.examples.flatMap(({ expect }, index) =>
    'matches' in expect ? [[index + 1, expect.matches] as const] : [],
  )
  const paths = [...draft.files.keys()]
  const asked = { files: paths.filter((path) => isCode.test(path)), others: paths.filter((path) => !isCode.test(path)) }
  const reader = `/familiar/${file}`
  try {
    const outcome = await sandbox.run({
      argv: [program, ...options, reader, place],
      environment: {},
      workingDirectory: '/',
      stdin: new TextEncoder().encode(JSON.stringify({ ...asked, patterns })),
      mounts: [
        { source: draft.directory, target: place },
        { source: fileURLToPath(new URL(file, import.meta.url)), target: reader },
      ],
      isWritable: false,
      network: { kind: 'none' },
      limits,
      signal,
    })
    const answer = parseJson(new TextDecoder().decode(outcome.stdout), answerSchema)
    if (answer.ok && outcome.end.kind === 'exited' && outcome.end.code === 0) return answer.value.problems
    const said = new TextDecoder().decode(outcome.stderr).trim().slice(-500)
    return [`The code cannot be parsed: ${said || `the parser ended with ${outcome.end.kind}`}`]
  } catch (cause) {
    if (!(cause instanceof SandboxUnavailable)) throw cause
    return [`The code cannot be checked: ${cause.message}${cause.fix ? `. To change that: ${cause.fix}` : ''}`]
  }
}
