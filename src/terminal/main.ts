import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { CommanderError } from 'commander'
import packageFile from '../../package.json' with { type: 'json' }
import { createCommandLine, homePaths, resolveHome } from '../daemon/home-paths.ts'
import { CommandError, type ExitCode, exitCodes, interrupted, usageError } from './command.ts'
import type { RunCommand } from './grammar/grammar.ts'
import { createOutput } from './output.ts'
import { createProgram } from './program.ts'
import { listenForSignals, reportError } from './signals.ts'

const { argv, env, stdin, stdout, stderr } = process
const defaultHome = resolveHome(env, homedir())
const signals = listenForSignals(process)
const output = createOutput({ stdout, stderr, env })
let exitCode: ExitCode = exitCodes.fine
let outputError: NodeJS.ErrnoException | undefined

const run: RunCommand = async (load, input, { createsHome }) => {
  const { home, ...rest } = input
  const handler = await load()
  const homePath = typeof home === 'string' ? resolve(home) : defaultHome
  if (!createsHome && !isHome(homePath) && !isOnServer(homePath, home)) throw noHome(homePath)
  const { signal, onHangup } = signals
  const commandLine = (words: string) => createCommandLine({ home: homePath, env })(words)
  const here = { ...output, commandLine }
  const context = { homePath, env, output: here, stdin, stdout, stderr, signal, onHangup }
  exitCode = (await handler(context, rest as never)) ?? exitCodes.fine
}

stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader has left (`familiar log | head`), which is not an error. A full disk behind a redirection is one.
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
// All output is written before the process exits, whatever still keeps it open.
await new Promise((written) => stdout.write('', written))
if (outputError) exitCode = outputError.code === 'EPIPE' ? exitCodes.fine : exitCodes.failed
process.exit(exitCode)

function endWith(error: unknown): ExitCode {
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.fine
  // Interrupted work fails with its own error, but the cause is that the user stopped it.
  if (signals.signal.aborted) return interrupted().exitCode
  const failure = error instanceof CommanderError ? fromCommander(error) : error
  reportError(failure, { output, json: argv.includes('--json'), debug: env.FAMILIAR_LOG === 'debug' })
  return failure instanceof CommandError ? failure.exitCode : exitCodes.failed
}

function isHome(path: string): boolean {
  const { config, database, run, workspace } = homePaths(path)
  return [config, database, run, workspace].some((one) => existsSync(one))
}

/** A machine that shares a PostgreSQL database by its environment alone has nothing in its home before the first start. */
function isOnServer(path: string, named: unknown): boolean {
  const isMistyped = typeof named === 'string' && !existsSync(path)
  return Boolean(env.FAMILIAR_DATABASE_URL) && !isMistyped
}

function noHome(path: string): CommandError {
  const start = createCommandLine({ home: path, env })('start')
  const hint = `Check --home and FAMILIAR_HOME, or create one there: ${start}`
  return new CommandError(`There is no Familiar home at ${path}.`, {
    exitCode: exitCodes.unreachable,
    code: 'no_home',
    hint,
  })
}

function fromCommander(error: CommanderError): CommandError {
  const message = error.code === 'commander.help' ? '' : error.message.replace(/^error: /, '')
  return usageError(message, message && 'Help: familiar --help, or familiar COMMAND --help')
}
