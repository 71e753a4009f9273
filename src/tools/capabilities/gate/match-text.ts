import type { Sandbox } from '../../../sandbox/sandbox.ts'
import type { CapabilityManifest } from '../capability.ts'

const limits = {
  memoryBytes: 256 * 1024 ** 2,
  processes: 32,
  wallMs: 3_000,
  outputBytes: 1024,
  scratchBytes: 1024 ** 2,
}
const matchers = {
  python: [
    'python3',
    '-c',
    'import json, re, sys; given = json.load(sys.stdin); print(bool(re.search(given["pattern"], given["text"])))',
  ],
  node: [
    'node',
    '-e',
    "const { pattern, text } = JSON.parse(require('fs').readFileSync(0, 'utf8')); console.log(new RegExp(pattern, 'u').test(text))",
  ],
} as const

/**
 * Whether a regular expression, in the words of the runtime, finds something. Both are a stranger's, and some expressions
 * take for ever on some texts: so it is tried in a sandbox and given up after a few seconds. Undefined where it did not end.
 */
export async function matchText(
  { runtime, pattern, text }: { runtime: CapabilityManifest['runtime']; pattern: string; text: string },
  { sandbox, signal }: { sandbox: Sandbox; signal: AbortSignal },
): Promise<boolean | undefined> {
  const outcome = await sandbox.run({
    argv: matchers[runtime],
    environment: {},
    workingDirectory: '/',
    stdin: new TextEncoder().encode(JSON.stringify({ pattern, text })),
    mounts: [],
    isWritable: false,
    network: { kind: 'none' },
    limits,
    signal,
  })
  const said = new TextDecoder().decode(outcome.stdout).trim().toLowerCase()
  return said === 'true' || said === 'false' ? said === 'true' : undefined
}
