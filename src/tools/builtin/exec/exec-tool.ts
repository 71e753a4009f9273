import { z } from 'zod'
import type { RunChild } from '../../../base/run-child.ts'
import { type Sandbox, SandboxUnavailable } from '../../../sandbox/sandbox.ts'
import { defineTool, failed } from '../../define-tool.ts'
import type { Tool, ToolOutcome } from '../../tool.ts'
import { describeRun } from './describe-run.ts'

export interface ExecNeeds {
  sandbox: Pick<Sandbox, 'run'>
  runChild: RunChild
  settings: () => { host: 'ask' | 'never' }
  /** Where commands on the machine itself begin. */
  workspace: string
  /** All that a command on the machine itself is told of its surroundings: no secret may be in it. */
  environment: Readonly<Record<string, string>>
}

interface Command {
  command: string
  seconds: number
  signal: AbortSignal
}

const megabyte = 1024 * 1024
const outputBytes = megabyte
const sandboxLimits = { memoryBytes: 512 * megabyte, processes: 64, outputBytes, scratchBytes: 128 * megabyte }

// Where its input is a socket, bash takes itself for a remote shell and reads the user's .bashrc, with what is exported
// there: as its input is here.
const bash = ['bash', '--noprofile', '--norc', '-c'] as const

/**
 * Runs a command where it can do no harm. On the machine itself it runs only after the owner has approved exactly that
 * command: whoever calls `run` has seen to that, by `reach`.
 */
export function createExecTool(needs: ExecNeeds): Tool {
  return defineTool({
    name: 'exec',
    description:
      'Run a bash command in a fresh sandbox: no network, none of the user’s files, /tmp writable. ' +
      'host: true runs it on the machine itself, in the workspace; the user is asked each time.',
    input: z.object({
      command: z.string().min(1).max(20_000),
      host: z.boolean().default(false),
      seconds: z.int().min(1).max(300).default(30),
    }),
    effect: 'at-most-once',
    reach: ({ host }) => (host ? { kind: 'asks', destination: 'exec:host' } : { kind: 'reads', destination: null }),
    async run({ command, host, seconds }, { signal }) {
      const asked = { command, seconds, signal }
      if (!host) return await runInSandbox(needs, asked)
      if (needs.settings().host === 'never') {
        return failed(
          'Commands on the machine itself are switched off: familiar.toml has host = "never" in [tools.exec].',
        )
      }
      return await runOnHost(needs, asked)
    },
  })
}

async function runInSandbox({ sandbox }: ExecNeeds, { command, seconds, signal }: Command): Promise<ToolOutcome> {
  try {
    const outcome = await sandbox.run({
      argv: [...bash, command],
      environment: {},
      workingDirectory: '/tmp',
      stdin: new Uint8Array(),
      mounts: [],
      isWritable: true,
      network: { kind: 'none' },
      limits: { ...sandboxLimits, wallMs: seconds * 1_000 },
      signal,
    })
    return describeRun(outcome)
  } catch (error) {
    if (!(error instanceof SandboxUnavailable)) throw error
    return failed(error.fix === null ? `${error.message}.` : `${error.message}. This would help: ${error.fix}`)
  }
}

async function runOnHost(needs: ExecNeeds, { command, seconds, signal }: Command): Promise<ToolOutcome> {
  const outcome = await needs.runChild({
    argv: [...bash, command],
    environment: needs.environment,
    workingDirectory: needs.workspace,
    stdin: new Uint8Array(),
    limits: { wallMs: seconds * 1_000, outputBytes },
    signal,
  })
  // Whatever a command prints there may be anybody's words, and out of any file.
  return { ...describeRun(outcome), label: 'untrusted', isPrivate: true }
}
