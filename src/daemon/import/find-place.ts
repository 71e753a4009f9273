import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { readBundledText } from '../../base/text-file.ts'
import { starterFiles } from '../home.ts'
import type { ImportWay } from './import-plan.ts'

const mostBeside = 100

/** Where in the workspace a text can go without overwriting anything that is somebody's. Undefined where nowhere. */
export async function findPlace(
  workspace: string,
  { wanted, text }: { wanted: string; text: string },
): Promise<{ to: string; way: ImportWay } | undefined> {
  const found = await readPlace(join(workspace, wanted))
  if (found === 'free') return { to: wanted, way: 'new' }
  if (found.text === text) return { to: wanted, way: 'same' }
  if (isStarter(wanted, found.text)) return { to: wanted, way: 'starter' }
  const ending = extname(wanted)
  const stem = wanted.slice(0, wanted.length - ending.length)
  for (let number = 1; number <= mostBeside; number += 1) {
    const to = `${stem}.imported${number === 1 ? '' : `-${number}`}${ending}`
    const there = await readPlace(join(workspace, to))
    if (there === 'free') return { to, way: 'beside' }
    if (there.text === text) return { to, way: 'same' }
  }
  return undefined
}

/** Whatever cannot be read is there, too. */
async function readPlace(path: string): Promise<'free' | { text: string | undefined }> {
  try {
    return { text: await readFile(path, 'utf8') }
  } catch (cause) {
    return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT' ? 'free' : { text: undefined }
  }
}

export function isStarter(name: string, text: string | undefined): boolean {
  const starter = starterTextOf(name)
  return starter !== undefined && text?.trim() === starter
}

export function starterTextOf(name: string): string | undefined {
  if (!starterFiles.some((file) => file === name)) return undefined
  return readBundledText(new URL(`../starter/${name}`, import.meta.url))
}
