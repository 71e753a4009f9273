import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { RunningPodman } from './start-podman.ts'

/**
 * A base image under a name that would otherwise be pulled, made of this machine's programs: there is no registry in a
 * test. Its installers exist and do nothing.
 */
export function makeLocalBaseImage(
  podman: RunningPodman,
  options: { tag: string; programs: readonly string[]; installers?: readonly string[] },
): void {
  const { tag, programs, installers = [] } = options
  const folder = mkdtempSync(join(tmpdir(), 'familiar-base-'))
  const root = join(folder, 'root')
  try {
    copyPrograms(root, programs)
    for (const installer of installers) {
      writeFileSync(join(root, 'usr/bin', installer), '#!/usr/bin/sh\nexit 0\n')
      chmodSync(join(root, 'usr/bin', installer), 0o755)
    }
    mkdirSync(join(root, 'bin'))
    copyFileSync(join(root, 'usr/bin/sh'), join(root, 'bin/sh'))
    writeFileSync(join(folder, 'Dockerfile'), 'FROM scratch\nCOPY root /\n')
    podman.podman('build', '--quiet', '--tag', tag, folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Programs of this machine with their libraries, where the loader looks for them, below another root. */
export function copyPrograms(root: string, programs: readonly string[]): void {
  for (const program of programs) {
    const path = execFileSync('which', [program], { encoding: 'utf8' }).trim()
    copyInto(root, join('/usr/bin', basename(program)), path)
    for (const library of librariesOf(path)) copyInto(root, library, library)
  }
}

function copyInto(root: string, path: string, source: string): void {
  mkdirSync(join(root, dirname(path)), { recursive: true })
  copyFileSync(realpathSync(source), join(root, path))
}

function librariesOf(path: string): string[] {
  const listed = execFileSync('ldd', [path], { encoding: 'utf8' })
  return [...listed.matchAll(/(\/\S+) \(0x/g)].map(([, library = '']) => library)
}
