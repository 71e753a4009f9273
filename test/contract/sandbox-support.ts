import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { SandboxCommand, SandboxDriver, SandboxLimits } from '../../src/sandbox/sandbox.ts'

export interface SandboxUnderTest {
  driver: SandboxDriver
  /** Another driver of the same kind on the same machine, with a directory of its own. */
  another(): SandboxDriver
  /** The leftovers of its runs after it is closed. */
  leftovers(): string[]
  /** Removes what was made for the test. */
  dispose(): Promise<void>
}

export const megabyte = 1024 * 1024

const limits: SandboxLimits = {
  memoryBytes: 128 * megabyte,
  processes: 32,
  wallMs: 20_000,
  outputBytes: 2 * megabyte,
  scratchBytes: 8 * megabyte,
}

export type CommandChanges = Partial<Omit<SandboxCommand, 'limits' | 'stdin'>> & {
  limits?: Partial<SandboxLimits>
  stdin?: string | Uint8Array
}

/** Nothing to read, nothing to write, no network: a test says what it needs beside. */
export function commandOf(argv: readonly [string, ...string[]], changes: CommandChanges = {}): SandboxCommand {
  const { limits: changedLimits, stdin = '', ...rest } = changes
  return {
    argv,
    environment: {},
    workingDirectory: '/',
    stdin: typeof stdin === 'string' ? Buffer.from(stdin) : stdin,
    mounts: [],
    isWritable: false,
    network: { kind: 'none' },
    limits: { ...limits, ...changedLimits },
    signal: new AbortController().signal,
    ...rest,
  }
}

/** A Python program as a command. */
export function python(source: string, changes?: CommandChanges): SandboxCommand {
  return commandOf(['python3', '-c', source], changes)
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

/** A name for the processes of one run, short enough for the kernel. */
export function newMark(): string {
  return `mark-${randomUUID().slice(0, 8)}`
}

/** The first line of a Python program that takes the name, for itself and all that it begins. */
export function bearing(mark: string): string {
  return `open("/proc/self/comm", "w").write("${mark}")`
}

/** Processes of this machine with this name, whatever sandbox they are in. */
export function processesMarked(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => nameOf(pid) === mark)
}

export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await pause(10)
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return ''
  }
}

export function temporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'familiar-sandbox-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
