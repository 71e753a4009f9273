import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A file system of a few megabytes that can be filled and freed. Only root can have one. */
export interface SmallDisk {
  fill(): void
  free(): void
  remove(): void
}

export function mountSmallDisk(path: string): SmallDisk {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m,mode=0700', 'tmpfs', path], { stdio: 'pipe' })
  const ballast = join(path, 'ballast')
  return {
    fill() {
      const file = openSync(ballast, 'a')
      // Down to the last page: ever smaller pieces until not even one fits.
      for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 4)) while (fits(file, size));
      closeSync(file)
    },
    free: () => rmSync(ballast, { force: true }),
    remove: () => execFileSync('umount', ['--lazy', path]),
  }
}

export function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'familiar-mount-'))
  try {
    mountSmallDisk(folder).remove()
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function fits(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size
  } catch {
    return false
  }
}
