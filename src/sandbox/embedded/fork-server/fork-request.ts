import type { SandboxCommand } from '../../sandbox.ts'
import { innerLanguage } from '../prepare-command.ts'
import type { PreparedCommand } from '../world/world.ts'

/** What a forked process is told of its call. Only it reads this: the fork server itself never does. */
export function forkRequest(command: PreparedCommand) {
  return {
    argv: command.argv,
    // A shell has it, and so does a Python that a shell has started.
    environment: { PWD: command.workingDirectory, ...command.environment },
    workingDirectory: command.workingDirectory,
    binds: command.binds,
    scratchBytes: command.isWritable ? command.limits.scratchBytes : null,
    proxy: command.relay,
    resources: resourcesOf(command.lowered),
  }
}

/** By the names that Python's resource module has for them. */
function resourcesOf(lowered: PreparedCommand['lowered']): Record<string, number> {
  if (!lowered) return {}
  const { processes, dataBytes, spaceBytes } = lowered
  const space = spaceBytes === null ? {} : { RLIMIT_AS: spaceBytes }
  // The first process counts, too.
  return { RLIMIT_NPROC: processes + 1, RLIMIT_DATA: dataBytes, ...space }
}

const interpreters = new Set(['python3', 'python'])
/** What Python looks at when it starts, and what therefore only a Python of the call's own can heed. */
const ownStart = /^(PYTHON|LC_|LANG$|LANGUAGE$)/
const harmless = new Set(['PYTHONPATH', 'PYTHONDONTWRITEBYTECODE'])

/** Whether a forked Python does the same as one that is started: a script, and nothing asked of the interpreter itself. */
export function isForkable({ argv, environment, network }: SandboxCommand): boolean {
  const [program = '', script = '-'] = argv
  const isScript = script === '-c' ? argv.length > 2 : !script.startsWith('-')
  if (!interpreters.has(program) || !isScript || network.kind === 'host') return false
  return Object.entries(environment).every(
    ([name, value]) => !ownStart.test(name) || harmless.has(name) || (name === 'LANG' && value === innerLanguage),
  )
}
