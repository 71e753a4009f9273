import { posix } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../base/json.ts'

/** Reads any text. Never throws: errors and unsupported steps are problems with a line number. */
export function readDockerfile(text: string): DockerfilePlan {
  const { instructions, escapeWith, unfinished } = readInstructions(text)
  const globals: Record<string, string> = Object.create(null)
  const rules: WordRules = { escapeWith, variables: globals }
  const named = new Map<string, Stage>()
  // Instructions before the first FROM: only ARG is allowed there.
  let stage = newStage(null)

  for (const instruction of instructions) {
    if (instruction.name === 'FROM') {
      const [image = '', as, given] = readWords(instruction.rest, rules)
      const name = as?.toLowerCase() === 'as' ? given : undefined
      const base = named.get(image.toLowerCase())
      stage = newStage(image, base)
      if (image === '') addFatal(stage.plan, instruction.line, 'FROM has no image')
      if (name !== undefined) named.set(name.toLowerCase(), stage)
    } else if (stage.plan.from !== null) {
      applyInstruction(stage, instruction, rules)
    } else if (instruction.name === 'ARG') {
      for (const word of readWords(instruction.rest, rules)) {
        const [key, value] = splitPair(word)
        if (key !== '' && value !== undefined) globals[key] = value
      }
    } else {
      addFatal(stage.plan, instruction.line, `${instruction.name} comes before the first FROM`)
    }
  }

  const { plan } = stage
  for (const { line, message } of unfinished) addFatal(plan, line, message)
  const lastLine = instructions.at(-1)?.line ?? 1
  if (plan.from === null) addFatal(plan, lastLine, 'There is no FROM')
  else if (plan.entrypoint.length + plan.cmd.length === 0) {
    addFatal(plan, lastLine, 'There is no ENTRYPOINT and no CMD, so the program to run is only known to the base image')
  }
  plan.problems.sort((a, b) => a.line - b.line)
  return plan
}

function addFatal(plan: DockerfilePlan, line: number, message: string): void {
  plan.problems.push({ line, message, isFatal: true })
}

/** The files of COPY or ADD, or why only an engine could do it. `words` are its sources and, last, its target. */
function readCopyStep({ name, flags, documents }: Instruction, words: readonly string[], workdir: string) {
  const sources = words.slice(0, -1)
  const written = words.at(-1)
  const why = whyNot()
  if (why !== undefined || written === undefined) return { copies: [], why: why ?? `${name} has no target` }

  const target = posix.resolve(workdir, written)
  const isIntoDirectory = /(^|\/)\.{0,2}$/.test(written) || target === workdir || sources.length > 1
  const copies = sources.map((source): DockerfileCopy => {
    const inside = posix.normalize(source).replace(/^\/+|\/+$/g, '') || '.'
    return { source: inside, target, isIntoDirectory: isIntoDirectory || isPattern(inside) }
  })
  const outside = copies.find(({ source }) => source === '..' || source.startsWith('../'))
  if (outside) return { copies: [], why: `${name} refers to a path outside the tool's folder: ${outside.source}` }
  return { copies, why: undefined }

  function whyNot(): string | undefined {
    if (flags.from !== undefined) return `${name} --from copies files from another image`
    if (documents.length > 0) return `${name} of a text inside the Dockerfile`
    if (sources.length === 0) return `${name} needs a source and a target`
    if (name !== 'ADD') return undefined
    const url = sources.find((source) => /^(https?|git|ssh):|^git@/.test(source))
    if (url) return `ADD fetches ${url}`
    const archive = sources.find((source) => /\.(tar|tgz|tbz2?|txz|tar\.[a-z0-9]+)$/.test(source))
    return archive && `ADD unpacks ${archive}`
  }
}

/** The file of the tool's folder at an inner path, by the last copy that created it. */
function copiedFrom(copies: readonly DockerfileCopy[], innerPath: string): string | undefined {
  for (const copy of copies.toReversed()) {
    const { source, target } = copy
    if (!isPattern(source) && source !== '.' && innerPath === landing(copy)) return source
    const inside = posix.relative(target, innerPath)
    if (inside === '' || inside.startsWith('..')) continue
    // It is not known here whether a source is a folder. A name with an extension is assumed to be a file.
    if (source === '.' || (!isPattern(source) && posix.extname(source) === '')) return posix.join(source, inside)
    if (isPattern(source) && matches(posix.basename(source), inside)) return posix.join(posix.dirname(source), inside)
  }
  return undefined
}

function isPattern(source: string): boolean {
  return /[*?[]/.test(source)
}

/** `*` and `?` in one name. Backtracks to the last star only, so that no pattern takes long; classes match nothing. */
function matches(pattern: string, name: string): boolean {
  let at = 0
  let star = -1
  let starAt = 0
  for (let index = 0; index < name.length; ) {
    if (pattern[at] === '*') {
      star = at++
      starAt = index
    } else if (name[index] !== '/' && (pattern[at] === '?' || pattern[at] === name[index])) {
      at += 1
      index += 1
    } else if (star !== -1 && name[starAt] !== '/') {
      at = star + 1
      index = ++starAt
    } else return false
  }
  return /^\**$/.test(pattern.slice(at))
}

/**
 * The content of a Dockerfile, as far as a sandbox without a container engine can do the same with this machine's
 * programs.
 */
export interface DockerfilePlan {
  /** The base image of the last stage, with variables resolved. Null if there is none, which is a fatal problem. */
  from: string | null
  /** Absolute. */
  workdir: string
  /** In file order: a later one overrides an earlier one. */
  copies: DockerfileCopy[]
  /** The command is `entrypoint` followed by the caller's arguments, or by `cmd` without arguments. */
  entrypoint: string[]
  cmd: string[]
  environment: Record<string, string>
  installs: DockerfileInstalls
  /** Inner paths that the file makes executable (`RUN chmod +x`, `COPY --chmod`). */
  executables: string[]
  /** In the order of the lines. */
  problems: DockerfileProblem[]
}

export interface DockerfileCopy {
  /** In the tool's folder: a relative path without `..`, `.` for all of it, or a pattern with `*` and `?`. */
  source: string
  /** Absolute. */
  target: string
  /**
   * Whether a file goes into `target` under its own name, or is `target` itself. The contents of a folder always go
   * into it.
   */
  isIntoDirectory: boolean
}

interface DockerfileInstalls {
  /** Package names of apk or apt. */
  system: string[]
  /** Requirements in pip's format. */
  pip: string[]
  /** Requirements files in the tool's folder. */
  pipFiles: string[]
  npm: string[]
  /** `npm install` or `npm ci` without names: the packages of the tool's package.json. */
  npmProject: boolean
}

interface DockerfileProblem {
  /** Counted from 1. */
  line: number
  message: string
  /** The tool cannot run without an engine. Otherwise this step is skipped, and the tool may need it. */
  isFatal: boolean
}

/** One instruction with its continued lines joined, not yet interpreted. */
interface Instruction {
  /** Of its first line, counted from 1. */
  line: number
  /** In capitals. */
  name: string
  /** `--from=builder` and the like, without the dashes. */
  flags: Record<string, string>
  /** The text after the name and the flags. */
  rest: string
  /** The bodies of its here-documents. */
  documents: string[]
}

/**
 * Splits a Dockerfile: comments, continued lines, flags and here-documents. Accepts any text. `escapeWith` continues a
 * line and escapes in words: a backslash unless a directive says otherwise.
 */
export function readInstructions(text: string) {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
  const escapeWith = readEscape(lines)
  const instructions: Instruction[] = []
  const unfinished: { line: number; message: string }[] = []
  let at = 0

  function joinContinued(): string {
    let joined = ''
    while (at < lines.length) {
      const line = lines[at++] ?? ''
      // Inside an instruction a comment or an empty line is ignored; it does not end the instruction.
      if (joined !== '' && isIgnored(line)) continue
      const trimmed = line.trimEnd()
      if (!trimmed.endsWith(escapeWith)) return joined + line
      joined += trimmed.slice(0, -1) || ' '
    }
    return joined
  }

  function readDocument(word: string, stripsTabs: boolean, line: number): string {
    const body: string[] = []
    while (at < lines.length) {
      const next = lines[at++] ?? ''
      const bare = stripsTabs ? next.replace(/^\t+/, '') : next
      if (bare === word) return body.join('\n')
      body.push(bare)
    }
    unfinished.push({ line, message: `The text after <<${word} has no closing line ${word}` })
    return body.join('\n')
  }

  while (at < lines.length) {
    if (isIgnored(lines[at] ?? '')) {
      at += 1
      continue
    }
    const line = at + 1
    const joined = joinContinued().trim()
    const [, name = '', after = ''] = /^(\S+)\s*([\s\S]*)$/.exec(joined) ?? []
    if (name === '') continue
    const { flags, rest } = splitFlags(after)
    const starts = takesDocuments.has(name.toUpperCase()) ? rest.matchAll(documentStart) : []
    const documents = Array.from(starts, ([, dash, , word = '']) => readDocument(word, dash === '-', line))
    instructions.push({ line, name: name.toUpperCase(), flags, rest, documents })
  }
  return { instructions, escapeWith, unfinished }
}

const takesDocuments = new Set(['RUN', 'COPY', 'ADD'])
// `<<<` is a here-string of the shell, which has no lines.
const documentStart = /(?<![<\d])\d*<<(-?)(["']?)([A-Za-z_][A-Za-z0-9_]*)\2/g

function isIgnored(line: string): boolean {
  return /^\s*(#|$)/.test(line)
}

/** Directives are comments at the top of the file. */
function readEscape(lines: readonly string[]): string {
  for (const line of lines) {
    const directive = /^\s*#\s*([a-z]+)\s*=\s*(\S+)\s*$/i.exec(line)
    if (!directive) return '\\'
    if (directive[1]?.toLowerCase() === 'escape') return directive[2] === '`' ? '`' : '\\'
  }
  return '\\'
}

function splitFlags(text: string): { flags: Record<string, string>; rest: string } {
  const flags: Record<string, string> = Object.create(null)
  let rest = text
  for (;;) {
    const flag = /^--([a-z][a-z-]*)(?:=(\S*))?(?:\s+|$)/.exec(rest)
    if (!flag) return { flags, rest }
    flags[flag[1] ?? ''] = flag[2] ?? ''
    rest = rest.slice(flag[0].length)
  }
}

interface WordRules {
  escapeWith: string
  variables: Readonly<Record<string, string>>
}

/** Splits at spaces and resolves variables like a Dockerfile: quotes group words, single quotes prevent variables. */
function readWords(text: string, rules: WordRules): string[] {
  const words: string[] = []
  let word: string | undefined
  const add = (piece: string) => {
    word = (word ?? '') + piece
  }
  scan(text, rules, (piece, isSpace) => {
    if (!isSpace) return add(piece)
    if (word !== undefined) words.push(word)
    word = undefined
  })
  if (word !== undefined) words.push(word)
  return words
}

/** The same without splitting: `WORKDIR /a b` is one folder. */
function fillIn(text: string, rules: WordRules): string {
  let filled = ''
  scan(text, rules, (piece) => {
    filled += piece
  })
  return filled.trim()
}

/** Reports each piece; outside quotes, white space separately. */
function scan(text: string, { escapeWith, variables }: WordRules, tell: (piece: string, isSpace: boolean) => void) {
  let quote = ''
  let at = 0
  while (at < text.length) {
    const character = text[at] ?? ''
    if (quote === '' && (character === '"' || character === "'")) {
      quote = character
      // An empty pair of quotes is a word too.
      tell('', false)
      at += 1
    } else if (character === quote) {
      quote = ''
      at += 1
    } else if (character === escapeWith && quote !== "'" && at + 1 < text.length) {
      const next = text[at + 1] ?? ''
      const keepsEscape = quote === '"' && next !== '"' && next !== '$' && next !== escapeWith
      tell(keepsEscape ? character + next : next, false)
      at += 2
    } else if (character === '$' && quote !== "'") {
      const { value, length } = readVariable(text, at, variables)
      tell(value, false)
      at += length
    } else {
      tell(character, quote === '' && /\s/.test(character))
      at += 1
    }
  }
}

// The length limit prevents quadratic time on a text full of unclosed braces.
const variable = /\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-+])([^}]{0,1000}))?\})/y

/** There is a dollar sign at `at`. If it is not a variable, it stays. */
function readVariable(text: string, at: number, variables: WordRules['variables']): { value: string; length: number } {
  variable.lastIndex = at
  const found = variable.exec(text)
  if (!found) return { value: '$', length: 1 }
  const [whole, plain, braced, operator, alternative = ''] = found
  const name = plain ?? braced ?? ''
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined
  const isSet = operator?.startsWith(':') ? Boolean(value) : value !== undefined
  if (operator?.endsWith('-')) return { value: isSet ? (value ?? '') : alternative, length: whole.length }
  if (operator?.endsWith('+')) return { value: isSet ? alternative : '', length: whole.length }
  return { value: value ?? '', length: whole.length }
}

/** The effects of one RUN instruction, as far as can be determined without running it. */
interface RunStep extends DockerfileInstalls {
  /** As written: relative to the working directory, or absolute. So are `pipFiles`. */
  executables: string[]
  /** Commands that need a container engine. */
  passedOver: string[]
}

/** Reads a line of shell. Nothing of it is run here: a command is known, known to have no effect here, or skipped. */
function readRunStep(shell: string, variables: Readonly<Record<string, string>>): RunStep {
  const step: RunStep = { ...noInstalls(), executables: [], passedOver: [] }
  for (const command of simpleCommands(shell)) {
    // Shell with branches, pipes or substitutions is not interpreted.
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

/** False if the command is not known. */
function readCommand(words: readonly string[], step: RunStep): boolean {
  const [program = '', ...rest] = words
  const name = program.slice(program.lastIndexOf('/') + 1)
  if (changesNothing.has(name)) return true
  if (/^pip[0-9.]*$/.test(name)) return readPip(rest, step)
  if (/^python[0-9.]*$/.test(name) && rest[0] === '-m' && rest[1] === 'pip') return readPip(rest.slice(2), step)
  if (name === 'chmod') return readChmod(rest, step)
  const manager = packageManagers.get(name)
  if (!manager) return false
  const [verb = '', ...packages] = splitOptions(rest, manager.valued).plain
  if (!manager.installs.includes(verb)) return manager.idle.includes(verb)
  if (name !== 'npm') step.system.push(...packages.map((word) => word.replace(/[=<>~@:].*$/, '')))
  else if (packages.length === 0) step.npmProject = true
  else step.npm.push(...packages)
  return true
}

const apt = {
  valued: ['-t', '--target-release', '-o', '--option'],
  installs: ['install'],
  idle: ['update', 'upgrade', 'clean', 'autoclean', 'autoremove', 'purge', 'remove'],
}
const apk = {
  valued: ['--virtual', '-t', '--repository', '-X'],
  installs: ['add'],
  idle: ['update', 'upgrade', 'del', 'cache'],
}
const npm = {
  valued: ['--prefix', '--registry', '--loglevel', '--omit'],
  installs: ['install', 'i', 'add', 'ci'],
  idle: ['cache', 'config'],
}

/** The options that take the next word, the verbs that install, and those that have no effect here. */
const packageManagers = new Map(Object.entries({ apk, apt, 'apt-get': apt, npm }))

// Folders that the sandbox creates as needed, owners and users that it does not have, caches that do not exist.
const changesNothing = new Set(
  'mkdir rm chown useradd adduser addgroup groupadd set true : echo update-ca-certificates'.split(' '),
)

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
  const more = '-c --constraint -i --index-url --extra-index-url -f --find-links -e --editable'.split(' ')
  if (options.some(([name]) => more.includes(name)) || packages.some((name) => /^\.|[/\\]/.test(name))) return false
  step.pip.push(...packages.filter((name) => !['pip', 'setuptools', 'wheel'].includes(name)))
  for (const [name, value] of options) if (name === '-r' || name === '--requirement') step.pipFiles.push(value)
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

/** From one FROM to the next. */
interface Stage {
  plan: DockerfilePlan
  /** From ARG: known while building, not in the tool's environment. */
  arguments: Record<string, string>
  shell: string[]
  /** Whether `cmd` comes from the base stage. */
  inheritsCmd: boolean
}

// The settings that every base image has.
const basePath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

function noInstalls(): DockerfileInstalls {
  return { system: [], pip: [], pipFiles: [], npm: [], npmProject: false }
}

/** `base`: another stage of the same file. */
function newStage(from: string | null, base?: Stage): Stage {
  const lists = { copies: [], entrypoint: [], cmd: [], executables: [], problems: [] }
  const plan: DockerfilePlan = structuredClone(base?.plan) ?? {
    from,
    workdir: '/',
    environment: {},
    installs: noInstalls(),
    ...lists,
  }
  // Without a prototype and its inherited names.
  plan.environment = Object.assign(Object.create(null), plan.environment)
  const shell = base?.shell ?? ['/bin/sh', '-c']
  return { plan, arguments: Object.create(null), shell, inheritsCmd: base !== undefined }
}

function applyInstruction(stage: Stage, instruction: Instruction, globalRules: WordRules): void {
  const { plan } = stage
  const { line, name, rest } = instruction
  const { escapeWith, variables: globals } = globalRules
  const rules = { escapeWith, variables: { PATH: basePath, ...stage.arguments, ...plan.environment } }
  const problem = (message: string, isFatal: boolean) => plan.problems.push({ line, message, isFatal })

  function command(): string[] {
    const words = jsonWords(rest)
    if (words) return words
    if (rest.startsWith('[')) problem(`${name} is not a JSON list of texts, so it is read as shell: ${rest}`, false)
    return rest === '' ? [] : [...stage.shell, rest]
  }

  switch (name) {
    case 'ENTRYPOINT':
      plan.entrypoint = command()
      if (stage.inheritsCmd) plan.cmd = []
      return
    case 'CMD':
      plan.cmd = command()
      stage.inheritsCmd = false
      return
    case 'SHELL': {
      const words = jsonWords(rest)
      if (words && words.length > 0) stage.shell = words
      else problem('SHELL needs a JSON list of texts', true)
      return
    }
    case 'WORKDIR': {
      const written = fillIn(rest, rules)
      if (written === '') problem('WORKDIR has no folder', true)
      else plan.workdir = posix.resolve(plan.workdir, written)
      return
    }
    case 'ENV': {
      const pairs = environmentPairs(rest, (text) => readWords(text, rules))
      if (!pairs) return void problem(`ENV needs NAME=value, not: ${rest}`, true)
      for (const [key, value] of pairs) plan.environment[key] = value
      return
    }
    case 'ARG':
      for (const word of readWords(rest, rules)) {
        const [key, value] = splitPair(word)
        const known = value ?? (Object.hasOwn(globals, key) ? globals[key] : undefined)
        if (known !== undefined) stage.arguments[key] = known
      }
      return
    case 'COPY':
    case 'ADD': {
      const { copies, why } = readCopyStep(instruction, jsonWords(rest) ?? readWords(rest, rules), plan.workdir)
      if (why !== undefined) problem(`${why}; this requires a container engine`, true)
      plan.copies.push(...copies)
      if (isExecutableMode(instruction.flags.chmod)) plan.executables.push(...copies.map(landing))
      return
    }
    case 'RUN':
      applyRun(stage, instruction, problem, rules.variables)
      return
    default:
      if (!carriesNothing.has(name)) problem(`${name} is not a Dockerfile instruction`, true)
  }
}

// The sandbox has its own user and network, and keeps nothing.
const carriesNothing = new Set('LABEL MAINTAINER EXPOSE VOLUME USER STOPSIGNAL HEALTHCHECK ONBUILD'.split(' '))

function applyRun(
  { plan }: Stage,
  { rest, documents }: Instruction,
  problem: (message: string, isFatal: boolean) => void,
  variables: Readonly<Record<string, string>>,
): void {
  const words = jsonWords(rest)
  const shell = documents.length > 0 ? documents.join('\n') : words ? words.map(quote).join(' ') : rest
  const step = readRunStep(shell, variables)
  plan.installs.system.push(...step.system)
  plan.installs.pip.push(...step.pip)
  plan.installs.npm.push(...step.npm)
  plan.installs.npmProject ||= step.npmProject
  plan.executables.push(...step.executables.map((path) => posix.resolve(plan.workdir, path)))
  for (const file of step.pipFiles) {
    const source = copiedFrom(plan.copies, posix.resolve(plan.workdir, file))
    if (source === undefined) problem(`pip installs from ${file}, which no COPY above provides`, false)
    else plan.installs.pipFiles.push(source)
  }
  for (const command of step.passedOver) problem(`Skipped without a container engine: ${command}`, false)
}

function jsonWords(text: string): string[] | undefined {
  if (!text.startsWith('[')) return undefined
  const parsed = parseJson(text, z.array(z.string()))
  return parsed.ok ? parsed.value : undefined
}

/** `A=1 B=2`, or `A the rest of the line`. */
function environmentPairs(text: string, words: (text: string) => string[]): [string, string][] | undefined {
  const older = /^([^\s=]+)\s+([\s\S]+)$/.exec(text)
  if (older) return [[older[1] ?? '', words(older[2] ?? '').join(' ')]]
  const pairs = words(text).map(splitPair)
  if (pairs.length === 0 || pairs.some(([key, value]) => key === '' || value === undefined)) return undefined
  return pairs.map(([key, value]) => [key, value ?? ''])
}

function splitPair(word: string): [string, string | undefined] {
  const at = word.indexOf('=')
  return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)]
}

function isExecutableMode(mode: string | undefined): boolean {
  return mode !== undefined && /^0?[0-7]?[1357]|\+.*x/.test(mode)
}

function landing({ source, target, isIntoDirectory }: DockerfileCopy): string {
  return isIntoDirectory ? posix.join(target, posix.basename(source)) : target
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'"'"'`)}'`
}
