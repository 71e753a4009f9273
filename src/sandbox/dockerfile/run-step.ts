import { readWords } from './words.ts'

/** What one RUN instruction installs or changes, as far as that can be told without running it. */
export interface RunStep {
  system: string[]
  pip: string[]
  /** As written: relative to the working directory, or absolute. */
  pipFiles: string[]
  npm: string[]
  npmProject: boolean
  /** As written. */
  executables: string[]
  /** Commands that only a container engine carries out. */
  passedOver: string[]
}

/** Reads a line of shell. Nothing of it is ever run here: it is known, known to change nothing here, or passed over. */
export function readRunStep(shell: string, variables: Readonly<Record<string, string>>): RunStep {
  const step: RunStep = {
    system: [],
    pip: [],
    pipFiles: [],
    npm: [],
    npmProject: false,
    executables: [],
    passedOver: [],
  }
  for (const command of simpleCommands(shell)) {
    // Shell that branches, pipes or substitutes is not read by guessing.
    const isPlain = !/[|()`<>{}]/.test(command.replace(quoted, ''))
    const words = isPlain ? readWords(command, { escapeWith: '\\', variables }) : []
    if (!readCommand(withoutAssignments(words), step)) step.passedOver.push(command)
  }
  return step
}

// Double quotes around a substitution do not make it text.
const quoted = /'[^']*'|"[^"`$\\]*"/g

function simpleCommands(shell: string): string[] {
  const commands = ['']
  for (const piece of shell.match(/'[^']*'|"[^"]*"|&&|[\s\S]/g) ?? []) {
    if (piece === '&&' || piece === ';' || piece === '\n') commands.push('')
    else commands[commands.length - 1] += piece
  }
  return commands.map((command) => command.trim()).filter((command) => command !== '' && !command.startsWith('#'))
}

function withoutAssignments(words: string[]): string[] {
  const first = words.findIndex((word) => !/^[A-Za-z_][A-Za-z0-9_]*=/.test(word))
  return first === -1 ? [] : words.slice(first)
}

/** Whether the command is one that is known. */
function readCommand(words: readonly string[], step: RunStep): boolean {
  const [program = '', ...rest] = words
  const name = program.slice(program.lastIndexOf('/') + 1)
  if (changesNothing.has(name)) return true
  if (name === 'apk') return readApk(rest, step)
  if (name === 'apt-get' || name === 'apt') return readApt(rest, step)
  if (/^pip[0-9.]*$/.test(name)) return readPip(rest, step)
  if (/^python[0-9.]*$/.test(name) && rest[0] === '-m' && rest[1] === 'pip') return readPip(rest.slice(2), step)
  if (name === 'npm') return readNpm(rest, step)
  if (name === 'chmod') return readChmod(rest, step)
  return false
}

// Folders that the sandbox makes as they are needed, owners and users that it does not have, caches that never were.
const changesNothing = new Set(
  'mkdir rm chown useradd adduser addgroup groupadd set true : echo update-ca-certificates'.split(' '),
)

function readApk(words: readonly string[], step: RunStep): boolean {
  const { plain } = splitOptions(words, ['--virtual', '-t', '--repository', '-X'])
  const [verb, ...packages] = plain
  if (verb === 'update' || verb === 'upgrade' || verb === 'del' || verb === 'cache') return true
  if (verb !== 'add') return false
  step.system.push(...packages.map(packageName))
  return true
}

function readApt(words: readonly string[], step: RunStep): boolean {
  const { plain } = splitOptions(words, ['-t', '--target-release', '-o', '--option'])
  const [verb = '', ...packages] = plain
  if (['update', 'upgrade', 'clean', 'autoclean', 'autoremove', 'purge', 'remove'].includes(verb)) return true
  if (verb !== 'install') return false
  step.system.push(...packages.map(packageName))
  return true
}

function packageName(word: string): string {
  return word.replace(/[=<>~@:].*$/, '')
}

const pipOptions = [
  ...['-r', '--requirement', '-c', '--constraint', '-t', '--target', '-i', '--index-url', '--extra-index-url'],
  ...['--trusted-host', '-f', '--find-links', '--timeout', '--retries', '--root-user-action', '--progress-bar'],
  ...['--no-binary', '--only-binary', '--prefix', '--root', '--cache-dir', '--platform', '--python-version'],
]

function readPip(words: readonly string[], step: RunStep): boolean {
  const { plain, options } = splitOptions(words, pipOptions)
  const [verb, ...packages] = plain
  if (verb !== 'install') return verb === 'cache'
  // Another index, a constraint or the tool itself as a package is more than a name to install.
  const more = [
    '-c',
    '--constraint',
    '-i',
    '--index-url',
    '--extra-index-url',
    '-f',
    '--find-links',
    '-e',
    '--editable',
  ]
  if (options.some(([name]) => more.includes(name)) || packages.some((name) => /^\.|[/\\]/.test(name))) return false
  step.pip.push(...packages.filter((name) => !['pip', 'setuptools', 'wheel'].includes(name)))
  for (const [name, value] of options) if (name === '-r' || name === '--requirement') step.pipFiles.push(value)
  return true
}

function readNpm(words: readonly string[], step: RunStep): boolean {
  const { plain } = splitOptions(words, ['--prefix', '--registry', '--loglevel', '--omit'])
  const [verb = '', ...packages] = plain
  if (verb === 'cache' || verb === 'config') return true
  if (!['install', 'i', 'add', 'ci'].includes(verb)) return false
  if (packages.length === 0) step.npmProject = true
  step.npm.push(...packages)
  return true
}

function readChmod(words: readonly string[], step: RunStep): boolean {
  const [mode = '', ...paths] = words.filter((word) => word !== '-R')
  if (/^[ugoa]*\+[rwx]*x|^0?[0-7]?[1357][0-7]{2}$/.test(mode)) step.executables.push(...paths)
  return true
}

/** `valued` are the options that take the next word. */
function splitOptions(words: readonly string[], valued: readonly string[]) {
  const plain: string[] = []
  const options: [string, string][] = []
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    if (!word.startsWith('-') || word === '-') plain.push(word)
    else if (word.includes('=')) options.push([word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)])
    else options.push([word, valued.includes(word) ? (words[++at] ?? '') : ''])
  }
  return { plain, options }
}
