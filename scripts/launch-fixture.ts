import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

const manifest = {
  name: 'fixture',
  version: '1.0.0',
  type: 'module',
  dependencies: { dep: 'file:dep' },
  devDependencies: { tool: 'file:tool' },
}

export const lockText = JSON.stringify({
  name: 'fixture',
  version: '1.0.0',
  lockfileVersion: 3,
  requires: true,
  packages: {
    '': manifest,
    dep: { version: '1.0.0' },
    tool: { version: '1.0.0', dev: true },
    'node_modules/dep': { resolved: 'dep', link: true },
    'node_modules/tool': { resolved: 'tool', link: true },
  },
})

/** Does what its first argument asks, and says who it is once it is ready for signals. */
const program = `
const [what, value]: string[] = process.argv.slice(2)
if (what === 'exit') process.exitCode = Number(value)
if (what === 'wait') {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {
    console.log(signal)
    setTimeout(() => process.exit(8), 200)
  })
  setInterval(() => {}, 1000)
}
console.log(JSON.stringify({ pid: process.pid, args: process.argv.slice(2), cwd: process.cwd(), path: process.env.PATH }))
await Promise.resolve()
if (what === 'die') process.kill(process.pid, value)
`

/**
 * Replaces npm in tests without a network, or with failures and delays: records its arguments, waits, and writes the
 * requested files. The environment controls it.
 */
const fakeNpm = `
const fs = require('fs')
const path = require('path')
const args = process.argv.slice(2)
fs.appendFileSync(process.env.FAKE_NPM_LOG, args.join(' ') + '\\n')
setTimeout(() => {
  if (process.env.FAKE_NPM_FAILS) {
    console.error('npm error code ENOTFOUND\\nnpm error network request failed\\nnpm error A complete log of this run')
    process.exit(1)
  }
  const prefix = args.indexOf('--prefix')
  const modules = path.join(prefix < 0 ? process.cwd() : args[prefix + 1], 'node_modules')
  fs.mkdirSync(modules, { recursive: true })
  const packages = {}
  if (prefix >= 0) {
    const parts = args.find((arg) => /^node-/.test(arg)).split('@')
    const version = parts[1].replace('^', '')
    fs.mkdirSync(path.join(modules, parts[0], 'bin'), { recursive: true })
    fs.writeFileSync(path.join(modules, parts[0], 'package.json'), JSON.stringify({ version: version }))
    fs.symlinkSync(process.execPath, path.join(modules, parts[0], 'bin', 'node'))
    packages['node_modules/' + parts[0]] = { version: version, integrity: process.env.FAKE_NPM_INTEGRITY }
  }
  fs.writeFileSync(path.join(modules, '.package-lock.json'), JSON.stringify({ packages: packages, args: args }))
}, Number(process.env.FAKE_NPM_MS || 0))
`

const pretendOld = `
Object.defineProperty(process, 'version', { value: 'v20.1.0' })
Object.defineProperty(process, 'versions', { value: Object.assign({}, process.versions, { node: '20.1.0' }) })
`

const pretendAncient = pretendOld.replaceAll('20.1.0', '6.17.1')

/** As Node before 22.15: it cannot hand over its process. */
const pretendStuck = 'process.execve = undefined'

const pretendAlone = `process.execPath = '/nowhere/bin/node'`

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
  pid: number | undefined
}

export interface StartOptions {
  /** The file given to Node; bin/familiar by default. */
  file?: string
  cwd?: string
  /** Preloaded scripts that change what the launcher sees of its Node. */
  pretend?: readonly ('old' | 'ancient' | 'alone' | 'stuck')[]
  env?: Record<string, string>
  uid?: number
  /** As a shell or npm starts it: the file itself, with a Node that pretends in PATH. */
  isByShell?: boolean
  onOutput?: (text: string, pid: number) => void
}

/** A clone of this repository with nothing in it but the launcher and a small program. */
export function createClone() {
  const folder = mkdtempSync(join(tmpdir(), 'familiar-launch-'))
  const npmLog = join(folder, 'npm.log')
  const write = (path: string, text: string): void => writeFileSync(join(folder, path), text)
  for (const part of ['scripts/launch.cjs', 'scripts/launcher', 'bin']) {
    cpSync(join(root, part), join(folder, part), { recursive: true })
  }
  for (const path of ['dep', 'tool', 'src/terminal', 'fake']) mkdirSync(join(folder, path), { recursive: true })
  write('package.json', JSON.stringify(manifest))
  write('package-lock.json', lockText)
  write('dep/package.json', JSON.stringify({ name: 'dep', version: '1.0.0' }))
  write('tool/package.json', JSON.stringify({ name: 'tool', version: '1.0.0' }))
  write('src/terminal/main.ts', program)
  write('fake/package.json', JSON.stringify({ type: 'commonjs' }))
  write('fake/npm-cli.js', fakeNpm)
  write('fake/old.cjs', pretendOld)
  write('fake/ancient.cjs', pretendAncient)
  write('fake/alone.cjs', pretendAlone)
  write('fake/stuck.cjs', pretendStuck)
  write('npm.log', '')

  return {
    folder,
    write,
    fakeNpm: { npm_execpath: join(folder, 'fake', 'npm-cli.js'), FAKE_NPM_LOG: npmLog },
    npmRuns: (): string[] => readFileSync(npmLog, 'utf8').split('\n').filter(Boolean),
    start: (args: string[], options: StartOptions = {}): Promise<Ended> => start(folder, args, options),
    remove: (): void => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A folder whose `node` is this one with the preloads, and of the version that they pretend. */
function pretendingNode(folder: string, preloads: string[]): string {
  const place = join(folder, 'fake', 'bin')
  const isOld = preloads.length > 0
  mkdirSync(place, { recursive: true })
  const version = isOld ? `case $1 in --version) echo v20.1.0; exit ;; esac\n` : ''
  const words = [process.execPath, ...preloads].map((word) => `'${word}'`).join(' ')
  writeFileSync(join(place, 'node'), `#!/bin/sh\n${version}exec ${words} "$@"\n`, { mode: 0o755 })
  return place
}

/** Without a terminal, as under a supervisor: a group of its own, so that a signal reaches only the launcher. */
function start(folder: string, args: string[], options: StartOptions): Promise<Ended> {
  const preloads = (options.pretend ?? []).flatMap((name) => ['-r', join(folder, 'fake', `${name}.cjs`)])
  const file = join(folder, options.file ?? 'bin/familiar')
  const env: NodeJS.ProcessEnv = { ...process.env, NODE_OPTIONS: '', ...options.env }
  if (options.isByShell) env.PATH = `${pretendingNode(folder, preloads)}:/usr/bin:/bin`
  const [program, words] = options.isByShell ? [file, args] : [process.execPath, [...preloads, file, ...args]]
  const child = spawn(program, words, {
    cwd: options.cwd ?? folder,
    detached: true,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.uid === undefined ? {} : { uid: options.uid }),
  })
  const result = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      result[name] += text
      if (child.pid) options.onOutput?.(text, child.pid)
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, pid: child.pid, ...result }))
  })
}
