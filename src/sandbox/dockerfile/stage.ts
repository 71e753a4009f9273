import { posix } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { copiedFrom, readCopyStep } from './copy-step.ts'
import type { DockerfilePlan } from './dockerfile-plan.ts'
import type { Instruction } from './instructions.ts'
import { readRunStep } from './run-step.ts'
import { fillIn, readWords } from './words.ts'

/** From one FROM to the next. */
export interface Stage {
  plan: DockerfilePlan
  /** Of ARG: known while building, not in the environment of the tool. */
  arguments: Record<string, string>
  shell: string[]
  /** Whether `cmd` comes from the stage that this one builds on. */
  inheritsCmd: boolean
}

export interface StageRules {
  escapeWith: string
  /** Of ARG before the first FROM. */
  globals: Readonly<Record<string, string>>
}

// What a base image has set, as far as every one of them has.
const basePath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export function emptyStage(from: string | null): Stage {
  const installs = { system: [], pip: [], pipFiles: [], npm: [], npmProject: false }
  const lists = { copies: [], entrypoint: [], cmd: [], executables: [], problems: [] }
  const plan = { from, workdir: '/', environment: Object.create(null), installs, ...lists }
  return { plan, arguments: Object.create(null), shell: ['/bin/sh', '-c'], inheritsCmd: false }
}

/** Writes what the instruction says into the stage. */
export function applyInstruction(stage: Stage, instruction: Instruction, { escapeWith, globals }: StageRules): void {
  const { plan } = stage
  const { line, name, rest } = instruction
  const rules = { escapeWith, variables: { PATH: basePath, ...stage.arguments, ...plan.environment } }
  const problem = (message: string, isFatal: boolean) => plan.problems.push({ line, message, isFatal })

  function command(): string[] {
    const words = jsonWords(rest)
    if (words) return words
    if (rest.startsWith('[')) problem(`${name} is no JSON list of texts, so it is read as shell: ${rest}`, false)
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
      if (written === '') problem('WORKDIR names no folder', true)
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
      if (why !== undefined) problem(`${why}; that takes a container engine`, true)
      plan.copies.push(...copies)
      if (isExecutableMode(instruction.flags.chmod)) plan.executables.push(...copies.map(landing))
      return
    }
    case 'RUN':
      applyRun(stage, instruction, problem, rules.variables)
      return
    default:
      if (!carriesNothing.has(name)) problem(`${name} is no instruction of a Dockerfile`, true)
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
    if (source === undefined) problem(`pip installs from ${file}, which no COPY above brings`, false)
    else plan.installs.pipFiles.push(source)
  }
  for (const command of step.passedOver) problem(`Passed over without a container engine: ${command}`, false)
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

function landing({ source, target, isIntoDirectory }: { source: string; target: string; isIntoDirectory: boolean }) {
  return isIntoDirectory ? posix.join(target, posix.basename(source)) : target
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'"'"'`)}'`
}
