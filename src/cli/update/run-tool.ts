import { systemClock } from '../../base/clock.ts'
import { type ChildOutcome, createRunChild } from '../../base/run-child.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** `text` is its standard output, also of one that failed. */
export type ToolAnswer = { ok: true; text: string } | { ok: false; text: string; message: string }

export interface ToolRun {
  argv: readonly [string, ...string[]]
  workingDirectory: string
  environment: Readonly<Record<string, string>>
  signal: AbortSignal
  wallMs?: number
}

const outputBytes = 10_000_000
const ordinaryMs = 60_000

/** Runs npm, git or a version of Familiar to its end. What went wrong is the last that it said. */
export async function runTool({ wallMs = ordinaryMs, ...run }: ToolRun): Promise<ToolAnswer> {
  const runChild = createRunChild({ clock: systemClock() })
  const outcome = await runChild({ ...run, stdin: new Uint8Array(), limits: { wallMs, outputBytes } })
  const text = Buffer.from(outcome.stdout).toString()
  if (outcome.end.kind === 'exited' && outcome.end.code === 0) return { ok: true, text }
  return { ok: false, text, message: whyNot(outcome, text) }
}

function whyNot({ end, stderr }: ChildOutcome, stdout: string): string {
  switch (end.kind) {
    case 'not_started':
      return `it cannot be started (${end.reason})`
    case 'timed_out':
      return 'it did not end in time'
    case 'killed':
      return `it was ended by ${end.signal}`
    case 'output_too_large':
      return 'it said too much'
    case 'exited': {
      const said = [Buffer.from(stderr).toString(), stdout].join('\n').split('\n')
      const first = said.find((line) => /error/i.test(line)) ?? said.find((line) => line.trim() !== '')
      return `exit code ${end.code}${first ? `: ${first.slice(0, 500)}` : ''}`
    }
  }
}

const handedOn =
  /^(PATH|HOME|USER|LOGNAME|LANG|LC_ALL|TMPDIR|TZ|SSH_AUTH_SOCK|NODE_EXTRA_CA_CERTS|XDG_\w+|npm_config_\w+|(https?|no|all)_proxy)$/i

/** What npm and git need of the environment: how to reach their servers, and no key of a model provider. */
export function fetchEnvironment(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (handedOn.test(name) && value !== undefined ? [[name, value]] : [])),
  )
}
