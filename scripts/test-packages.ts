import { spawnSync } from 'node:child_process'
import { runChild } from './launcher/run-child.cjs'

export interface TestPackage {
  name: string
  /** Which tests skip themselves without it. */
  purpose: string
}

/** Debian packages that some tests need. */
export const testPackages: TestPackage[] = [
  { name: 'bubblewrap', purpose: 'everything that runs in the embedded sandbox' },
  { name: 'python3', purpose: 'tools and probes written in Python' },
  { name: 'jq', purpose: 'tools written for the shell' },
  { name: 'curl', purpose: 'what a tool reaches through the proxy' },
  { name: 'iproute2', purpose: 'the table of destinations, in a network of its own' },
  { name: 'podman', purpose: 'the container driver' },
  { name: 'runc', purpose: 'the container driver' },
  { name: 'espeak-ng', purpose: 'the system’s voice, and speech for the tests of recognition and calls' },
  { name: 'tmux', purpose: 'the chat that draws, in a real terminal' },
  { name: 'postgresql', purpose: 'everything that runs on PostgreSQL' },
  { name: 'chromium', purpose: 'cards in a real browser, and the browser tool' },
]

interface Machine {
  packages: TestPackage[]
  installed: ReadonlySet<string>
  isDebian: boolean
  isRoot: boolean
}

/** The packages to install, and a message about the tests that will be skipped. */
export function planPackages({ packages, installed, isDebian, isRoot }: Machine): { install: string[]; say: string[] } {
  const missing = packages.filter(({ name }) => !installed.has(name))
  if (missing.length === 0) return { install: [], say: [] }
  const names = missing.map(({ name }) => name)
  if (isDebian && isRoot) return { install: names, say: [] }
  const reason = isDebian ? 'only root may install packages' : 'packages are installed on Debian only'
  const command = isDebian ? [`To run them: sudo apt-get install ${names.join(' ')}`] : []
  return { install: [], say: [...skipped(missing, reason), ...command] }
}

/** Never fails: a test whose package is missing says so itself. */
export async function installTestPackages(): Promise<void> {
  const machine = {
    packages: testPackages,
    installed: installedPackages(testPackages),
    isDebian: spawnSync('apt-get', ['--version']).status === 0,
    isRoot: process.getuid?.() === 0,
  }
  const { install, say } = planPackages(machine)
  for (const line of say) console.log(line)
  if (install.length === 0) return
  console.log(`Installing Debian packages: ${install.join(' ')}`)
  if ((await aptInstall(install)) || ((await apt(['update'])) && (await aptInstall(install)))) return
  const missing = testPackages.filter(({ name }) => install.includes(name))
  for (const line of skipped(missing, 'apt-get could not install it')) console.log(line)
}

function installedPackages(packages: TestPackage[]): Set<string> {
  if (packages.length === 0) return new Set()
  const names = packages.map(({ name }) => name)
  const format = `$` + '{db:Status-Status} $' + '{Package}\\n'
  const { stdout } = spawnSync('dpkg-query', ['-W', '-f', format, ...names], { encoding: 'utf8' })
  const lines = (stdout ?? '').split('\n').filter((line) => line.startsWith('installed '))
  return new Set(lines.map((line) => line.replace('installed ', '')))
}

function aptInstall(names: string[]): Promise<boolean> {
  return apt(['install', '-y', '--no-install-recommends', ...names])
}

async function apt(args: string[]): Promise<boolean> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const result = await runChild('apt-get', ['-q', ...args], { stdio: ['ignore', 'pipe', 'pipe'], env })
  if (result.code !== 0) console.log(result.output.trim())
  return result.code === 0
}

function skipped(packages: TestPackage[], reason: string): string[] {
  return packages.map(({ name, purpose }) => `Skipped without ${name}: ${purpose} (${reason}).`)
}
