import type { CgroupLimits } from './cgroup/cgroup.ts'
import { findSystemProgram, ownNode, ownPrograms } from './inner-programs.ts'
import { innerFiles } from './stage/open-stage.ts'
import type { PreparedCommand } from './world/world.ts'

/** What the first process of a sandbox that bubblewrap makes is to do, in its environment, since it waits before it is known. */
const entryName = 'FAMILIAR_START'
/** The kernel takes no more than 128 kB in one variable. */
const longestPart = 100_000

/** The program of that process. It is the same for every command. */
export function entryProgram(firstShell: string): string[] {
  return [firstShell, '-c', `eval "$${entryName}"`]
}

/** The whole environment that bubblewrap is told of. What is only for the first process does not reach the command. */
export function entryEnvironment(command: PreparedCommand): Record<string, string> {
  const script = entryScript(command)
  const count = Math.ceil(script.length / longestPart)
  const names = Array.from({ length: count }, (_, index) => `${entryName}_${index}`)
  const parts = names.map((name, index) => [name, script.slice(index * longestPart, (index + 1) * longestPart)])
  const start = `eval "unset ${entryName} ${names.join(' ')}; ${names.map((name) => `$${name}`).join('')}"`
  return { ...command.environment, ...Object.fromEntries(parts), [entryName]: start }
}

/**
 * Starts the command and waits for it. Bubblewrap brings a first process of its own, but leaves it behind when the program
 * ends, for the first process of the machine to bury. This one stays until everything is over, and bubblewrap with it. It
 * has nothing to say of a program that was killed.
 */
function entryScript(command: PreparedCommand): string {
  const { relay, lowered, environment } = command
  // A shell keeps only variables that it could have set itself.
  const odd = Object.entries(environment).filter(([name]) => !/^[A-Za-z_]\w*$/.test(name))
  const words = [
    ...(odd.length > 0 ? ['env', ...odd.map(([name, value]) => `${name}=${value}`)] : []),
    ...(relay ? [...relayProgram(), String(relay.port), relay.path] : []),
    ...command.argv,
  ]
  const program = words.map(quoted).join(' ')
  return `${lowerLimits(lowered)}exec 5>&2 2>/dev/null; ( exec ${program} 2>&5 5>&- ); exit $?`
}

/** Limits are set inside: outside they would count all of the account's processes. Shells differ in a letter. */
function lowerLimits(lowered: PreparedCommand['lowered']): string {
  if (!lowered) return ''
  const { processes, dataBytes, spaceBytes } = lowered
  // The first process counts, too.
  const count = processes + 1
  const space = spaceBytes === null ? '' : `ulimit -v ${Math.ceil(spaceBytes / 1024)}; `
  return `ulimit -u ${count} 2>/dev/null || ulimit -p ${count}; ulimit -d ${Math.ceil(dataBytes / 1024)}; ${space}`
}

/** Bubblewrap, the first process, and perhaps the relay. */
export function entryOverhead({ relay }: PreparedCommand): CgroupLimits {
  if (!relay) return { processes: 2, memoryBytes: 0 }
  const isPython = findSystemProgram('python3') !== undefined
  // Node has threads, which count like processes.
  return { processes: isPython ? 3 : 14, memoryBytes: (isPython ? 10 : 64) * 1024 * 1024 }
}

/** Measured: Python is there in 10 ms with 8 MB, Node in 45 ms with 45 MB. */
function relayProgram(): string[] {
  const python = findSystemProgram('python3')
  if (python) return [python, '-I', '-S', `${innerFiles}/relay.py`]
  return [ownNode() ? `${ownPrograms}/node` : 'node', `${innerFiles}/relay.mjs`]
}

/** As one word of a shell, whatever is in it. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
