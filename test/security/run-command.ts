import { Readable, Writable } from 'node:stream'
import type { CommandContext } from '../../src/terminal/command.ts'
import { createOutput } from '../../src/terminal/output.ts'
import { createProgram } from '../../src/terminal/program.ts'
import { reportError } from '../../src/terminal/signals.ts'

/** The output of one command, byte for byte. */
export interface Written {
  stdout: string
  stderr: string
}

/** The command line in this process, on streams of the test's own: as in a pipe, or as at a terminal. */
export async function runCommand(
  args: readonly string[],
  options: { home: string; isTerminal: boolean; input?: string },
): Promise<Written> {
  const { home, isTerminal, input = '' } = options
  const [stdout, stderr] = [createSink(isTerminal), createSink(isTerminal)]
  const env = {
    FAMILIAR_HOME: home,
    FAMILIAR_EMBEDDING: 'off',
    FAMILIAR_SANDBOX: 'off',
    FAMILIAR_MODEL: 'offline/offline',
  }
  const output = createOutput({ stdout: stdout.stream, stderr: stderr.stream, env })
  const program = createProgram({
    version: '0.0.0',
    homePath: home,
    async run(load, chosen) {
      const { home: _home, ...rest } = chosen
      const handler = await load()
      const context = {
        homePath: home,
        env,
        output,
        stdin: Object.assign(Readable.from([input]), { isTTY: false }),
        stdout: stdout.stream,
        stderr: stderr.stream,
        signal: new AbortController().signal,
        onHangup: () => undefined,
      }
      await handler(context as unknown as CommandContext, rest as never)
    },
  })
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    reportError(error, { output, json: args.includes('--json'), debug: true })
  }
  return { stdout: stdout.text(), stderr: stderr.text() }
}

function createSink(isTerminal: boolean) {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(Buffer.from(chunk))
      done()
    },
  })
  const terminal = { isTTY: isTerminal, columns: isTerminal ? 100 : undefined }
  return { stream: Object.assign(stream, terminal), text: () => Buffer.concat(chunks).toString('utf8') }
}
