import { readToolFolder } from '../../contract/folder/read-tool-folder.ts'
import type { CapabilityFiles } from '../capability.ts'

export type FolderReading = { ok: true; files: CapabilityFiles } | { ok: false; problem: string }

/** Reads a folder of this machine once, hidden files and compiled Python left out. What is in it is for the gate to judge. */
export async function readCapabilityFolder(directory: string): Promise<FolderReading> {
  const reading = await readToolFolder(directory, { isPrivate: true })
  if (!reading.ok) return reading
  return { ok: true, files: new Map(reading.folder.files.map(({ path, bytes }) => [path, bytes])) }
}
