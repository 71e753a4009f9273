import { posix } from 'node:path'

/** A path as it may be written in a SKILL.md, as files of a folder are named. What leads out of it names nothing there. */
export function skillFilePath(written: string): string {
  return posix.normalize(written.trim().replaceAll('\\', '/')).replace(/^\.\//, '').replace(/\/$/, '')
}
