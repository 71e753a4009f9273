import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { CommanderError } from 'commander'
import packageFile from '../../package.json' with { type: 'json' }
import { resolveHome } from '../daemon/home-paths.ts'
import { CommandError, type ExitCode, exitCodes, interrupted, usageError } from './command-error.ts'
import { listenForSignals } from './listen-for-signals.ts'
import { createOutput } from './output.ts'
import { createProgram, type RunCommand } from './program.ts'
import { reportError } from './report-error.ts'

const { argv, env, stdin, stdout, stderr } = process
const defaultHome = resolveHome(env, homedir())
const signals = listenForSignals(process)
const output = createOutput({ stdout, stderr, env })
let exitCode: ExitCode = exitCodes.fine
let outputError: NodeJS.ErrnoException | undefined

const run: RunCommand = async (load, input) => {
  const { home, ...rest } = input
  const handler = await load()
  const homePath = typeof home === 'string' ? resolve(home) : defaultHome
  const context = { homePath, env, output, stdin, stdout, stderr, signal: signals.signal, onHangup: signals.onHangup }
  exitCode = (await handler(context, rest as never)) ?? exitCodes.fine
}

stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever read us has left (`familiar log | head`): no error of ours. A full disk behind a redirection is one.
  if (signals.readerLeft()) outputError ??= error
})
stderr.on('error', () => undefined)

try {
  const program = createProgram({ version: packageFile.version, homePath: defaultHome, run })
  if (argv.length <= 2) program.outputHelp()
  else await program.parseAsync(argv)
} catch (error) {
  exitCode = endWith(error)
}
// The last words must have left before the process does; whatever still holds it open has no say.
await new Promise((written) => stdout.write('', written))
if (outputError) exitCode = outputError.code === 'EPIPE' ? exitCodes.fine : exitCodes.failed
process.exit(exitCode)

function endWith(error: unknown): ExitCode {
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.fine
  // What was under way fails in its own words when it is cut off; what happened is that the user stopped it.
  if (signals.signal.aborted) return interrupted().exitCode
  const failure = error instanceof CommanderError ? fromCommander(error) : error
  reportError(failure, { output, json: argv.includes('--json'), debug: env.FAMILIAR_LOG === 'debug' })
  return failure instanceof CommandError ? failure.exitCode : exitCodes.failed
}

function fromCommander(error: CommanderError): CommandError {
  const message = error.code === 'commander.help' ? '' : error.message.replace(/^error: /, '')
  return usageError(message, message && 'Help: familiar --help, or familiar COMMAND --help')
}
