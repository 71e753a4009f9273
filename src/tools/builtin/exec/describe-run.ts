import type { ChildEnd } from '../../../base/run-child.ts'
import type { SandboxEnd } from '../../../sandbox/sandbox.ts'
import type { ToolOutcome } from '../../tool.ts'
import { cleanForeignText } from '../foreign-text.ts'

interface FinishedRun {
  end: SandboxEnd | ChildEnd
  stdout: Uint8Array
  stderr: Uint8Array
  durationMs: number
}

const stdoutCharacters = 8_000
const stderrCharacters = 3_000

/** What a command printed and how it ended. Any end but success is an error. */
export function describeRun({ end, stdout, stderr, durationMs }: FinishedRun): ToolOutcome {
  const printed = withoutMiddle(textOf(stdout), stdoutCharacters)
  const complained = withoutMiddle(textOf(stderr), stderrCharacters)
  const isError = end.kind !== 'exited' || end.code !== 0
  const text = [
    `[${describeEnd(end)}, ${(durationMs / 1_000).toFixed(1)} s]`,
    printed,
    complained && `[stderr]\n${complained}`,
  ]
  const outcome: ToolOutcome = { text: text.filter((part) => part !== '').join('\n'), isError }
  return end.kind === 'timed_out' ? { ...outcome, timedOut: true } : outcome
}

function describeEnd(end: FinishedRun['end']): string {
  switch (end.kind) {
    case 'exited':
      return `exit code ${end.code}`
    case 'killed':
      return `killed by ${end.signal}`
    case 'timed_out':
      return 'stopped: it took longer than it may'
    case 'out_of_memory':
      return 'stopped: it used more memory than it may'
    case 'output_too_large':
      return 'stopped: it printed more than it may'
    case 'not_started':
      return `could not be started: ${end.reason}`
  }
}

function textOf(bytes: Uint8Array): string {
  return cleanForeignText(Buffer.from(bytes).toString()).trim()
}

/** What a program says first and last is worth the most. */
function withoutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text
  const head = text.slice(0, (limit / 3) * 2).toWellFormed()
  const tail = text.slice(-limit / 3).toWellFormed()
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
}
