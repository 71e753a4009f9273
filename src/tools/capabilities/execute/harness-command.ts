import { fileURLToPath } from 'node:url'
import type { SandboxCommand } from '../../../sandbox/sandbox.ts'
import type { Runnable } from './executor.ts'

/** A command but for its input, network and limits. */
export type HarnessCommand = Pick<SandboxCommand, 'argv' | 'environment' | 'workingDirectory' | 'mounts'>

const place = '/capability'
const packagesPlace = '/familiar/python'
const harnesses = {
  python: { program: 'python3', options: [], file: 'run-capability.py' },
  // What kind of module `main.js` is, Node sees for itself, and need not say so in every log.
  node: { program: 'node', options: ['--disable-warning=MODULE_TYPELESS_PACKAGE_JSON'], file: 'run-capability.mjs' },
} as const

/** What calls `run`. For Python it is a plain script, which the sandbox can fork instead of starting an interpreter. */
export function harnessCommand(runnable: Runnable, packages: string | undefined): HarnessCommand {
  const { program, options, file } = harnesses[runnable.manifest.runtime]
  const target = `/familiar/${file}`
  const source = fileURLToPath(new URL(file, import.meta.url))
  const beside = besideFiles(runnable, packages)
  return { ...beside, argv: [program, ...options, target], mounts: [...beside.mounts, { source, target }] }
}

/** A line for a shell, where the files are. */
export function shellCommand(runnable: Runnable, packages: string | undefined, command: string): HarnessCommand {
  return { ...besideFiles(runnable, packages), argv: ['sh', '-c', command] }
}

function besideFiles({ directory }: Runnable, packages: string | undefined): Omit<HarnessCommand, 'argv'> {
  const path = packages === undefined ? place : `${place}:${packagesPlace}`
  return {
    environment: { PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' },
    workingDirectory: place,
    mounts: [
      { source: directory, target: place },
      ...(packages === undefined ? [] : [{ source: packages, target: packagesPlace }]),
    ],
  }
}
