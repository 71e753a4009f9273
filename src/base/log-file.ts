import { closeSync, fstatSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from './clock.ts'

export interface LogFile {
  /** Never throws: a full disk must not take the daemon with it. What could not be written is counted and told later. */
  write(line: string): void
  close(): void
}

const namePattern = /^familiar-\d{4}-\d{2}-\d{2}(?:\.(\d+))?\.log$/

/** Lines in a file a day (`familiar-2026-11-15.log`, `.1.log` once that is full), the oldest files dropped. */
export function openLogFile(options: {
  directory: string
  clock: Clock
  maxFileBytes?: number
  keepFiles?: number
}): LogFile {
  const { directory, clock, maxFileBytes = 10_000_000, keepFiles = 14 } = options
  let file: { descriptor: number; bytes: number; day: string; part: number } | undefined
  let dropped = 0

  function fileFor(bytes: number) {
    const day = new Date(clock.now()).toISOString().slice(0, 10)
    if (file && file.day === day && file.bytes + bytes <= maxFileBytes) return file
    let part = file?.day === day ? file.part + 1 : 0
    for (; ; part += 1) {
      close()
      const name = `familiar-${day}${part === 0 ? '' : `.${part}`}.log`
      const descriptor = openSync(join(directory, name), 'a', 0o600)
      file = { descriptor, bytes: fstatSync(descriptor).size, day, part }
      if (file.bytes === 0 || file.bytes + bytes <= maxFileBytes) break
    }
    dropOldest()
    return file
  }

  function dropOldest() {
    const names = readdirSync(directory).filter((name) => namePattern.test(name))
    const order = (name: string) => `${name.slice(0, 19)}${(namePattern.exec(name)?.[1] ?? '0').padStart(6, '0')}`
    names.sort((a, b) => (order(a) < order(b) ? -1 : 1))
    for (const name of names.slice(0, -keepFiles)) rmSync(join(directory, name), { force: true })
  }

  function close() {
    if (file) closeSync(file.descriptor)
    file = undefined
  }

  return {
    write(line) {
      try {
        const note =
          dropped > 0 ? `{"level":"warn","message":"log lines could not be written","count":${dropped}}\n` : ''
        const bytes = Buffer.from(note + line)
        const target = fileFor(bytes.length)
        // A disk that fills up takes half a line: it is not a line then, and the rest would glue to the next one.
        const written = writeSync(target.descriptor, bytes)
        target.bytes += written
        if (written < bytes.length) throw new Error('short write')
        dropped = 0
      } catch {
        dropped += 1
      }
    },
    close,
  }
}
