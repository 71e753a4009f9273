import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Architecture } from '../seccomp/system-calls.ts'
import { findSystemProgram } from './inner-programs.ts'

/** What the driver needs of the machine it runs on. */
interface Machine {
  bubblewrap: string
  architecture: Architecture
}

export type MachineCheck = { ok: true; machine: Machine } | { ok: false; reason: string; fix: string | null }

/** The options are for tests. */
export async function checkMachine(
  options: {
    platform?: string
    arch?: string
    find?: (program: string) => string | undefined
    readVersion?: (bubblewrap: string) => Promise<string>
  } = {},
): Promise<MachineCheck> {
  const {
    platform = process.platform,
    arch = process.arch,
    find = findSystemProgram,
    readVersion = askVersion,
  } = options
  if (platform !== 'linux') {
    const reason = `the embedded sandbox needs Linux, and this is ${platform}: a container engine can run code here`
    return { ok: false, reason, fix: null }
  }
  if (arch !== 'x64' && arch !== 'arm64') {
    return { ok: false, reason: `there is no system call filter for ${arch}`, fix: null }
  }
  const fix = installers.find(([program]) => find(program))?.[1] ?? null
  const bubblewrap = find('bwrap')
  if (!bubblewrap) return { ok: false, reason: 'bubblewrap is not installed', fix }
  const [version, major, minor] = /(\d+)\.(\d+)[\d.]*/.exec(await readVersion(bubblewrap)) ?? []
  if (!version) return { ok: false, reason: 'bubblewrap does not say its version', fix }
  // Since 0.7 a scratch disk can have a size.
  if (Number(major) === 0 && Number(minor) < 7) {
    return { ok: false, reason: `bubblewrap ${version} is too old: 0.7 is needed`, fix }
  }
  return { ok: true, machine: { bubblewrap, architecture: arch } }
}

async function askVersion(bubblewrap: string): Promise<string> {
  const options = { env: {}, timeout: 10_000 }
  return (await promisify(execFile)(bubblewrap, ['--version'], options).catch(() => ({ stdout: '' }))).stdout
}

const installers: readonly (readonly [program: string, command: string])[] = [
  ['apt-get', 'sudo apt-get install bubblewrap'],
  ['dnf', 'sudo dnf install bubblewrap'],
  ['pacman', 'sudo pacman -S bubblewrap'],
  ['zypper', 'sudo zypper install bubblewrap'],
  ['apk', 'sudo apk add bubblewrap'],
]
