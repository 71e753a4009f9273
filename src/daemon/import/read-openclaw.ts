import { join } from 'node:path'
import { findTexts } from './find-texts.ts'
import { isPromptFile } from './prompt-files.ts'
import { entriesOf } from './source-folder.ts'
import { leftOutOf, type SourceLayout, secretReason } from './source-layout.ts'

const reasons: Record<string, string> = {
  'BOOTSTRAP.md': 'it is for the first run of OpenClaw',
  'BOOT.md': 'it is for the start of OpenClaw',
  canvas: 'it belongs to the displays of OpenClaw',
  'openclaw.json': secretReason,
  'clawdbot.json': secretReason,
  'moltbot.json': secretReason,
  agents: 'conversations stay where they are, and keys may lie beside them',
  sessions: 'conversations stay where they are',
  cron: 'schedules are made anew: familiar schedule add',
}

/** A workspace of OpenClaw, or the folder (`~/.openclaw`) that holds one and the skills that were installed. */
export async function readOpenclaw(path: string): Promise<SourceLayout> {
  const layout: SourceLayout = { texts: [], skillRoots: [], leftOut: [] }
  const entries = await entriesOf(path)
  const hasWorkspace = entries.some((entry) => entry.name === 'workspace' && entry.isDirectory())
  await readWorkspace(hasWorkspace ? join(path, 'workspace') : path, layout)
  if (!hasWorkspace) return layout
  for (const entry of entries) {
    if (entry.name === 'skills' && entry.isDirectory()) layout.skillRoots.push(join(path, entry.name))
    else if (entry.name !== 'workspace' && isWorthNaming(entry.name)) {
      layout.leftOut.push(leftOutOf(path, entry.name, reasons))
    }
  }
  return layout
}

async function readWorkspace(workspace: string, layout: SourceLayout): Promise<void> {
  const entries = await entriesOf(workspace)
  const names = new Set(entries.map(({ name }) => name))
  for (const entry of entries) {
    const path = join(workspace, entry.name)
    // As it was called before.
    const name = entry.name === 'memory.md' && !names.has('MEMORY.md') ? 'MEMORY.md' : entry.name
    if (entry.isFile() && isPromptFile(name)) layout.texts.push({ from: path, to: name })
    else if (entry.name === 'skills' && entry.isDirectory()) layout.skillRoots.push(path)
    else if (entry.name === 'memory' && entry.isDirectory()) {
      const found = await findTexts(path, 'memory')
      layout.texts.push(...found.texts)
      layout.leftOut.push(...found.leftOut)
    } else if (entry.isSymbolicLink()) layout.leftOut.push({ path, reason: 'it is a link' })
    else if (isWorthNaming(entry.name)) layout.leftOut.push(leftOutOf(workspace, entry.name, reasons))
  }
}

/** Hidden ones are nobody's loss, but for those that people look for. */
function isWorthNaming(name: string): boolean {
  return !name.startsWith('.') || name.startsWith('.env')
}
