import type { ToolFolder } from './tool-folder.ts'

/** What every copy of this state of the folder is named by, before what it is for. */
export function keptKey({ name, hash }: ToolFolder): string {
  return `${name}-${hash.slice(0, 16)}`
}
