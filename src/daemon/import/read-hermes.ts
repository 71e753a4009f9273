import { join } from 'node:path'
import { findTexts } from './find-texts.ts'
import { isPromptFile } from './prompt-files.ts'
import { entriesOf } from './source-folder.ts'
import { leftOutOf, type SourceLayout, secretReason } from './source-layout.ts'

const reasons: Record<string, string> = {
  'config.yaml': secretReason,
  'state.db': 'conversations stay where they are',
  sessions: 'conversations stay where they are',
  cron: 'schedules are made anew: familiar schedule add',
  profiles: 'each is imported by its own path',
  'hermes-agent': 'it is the program itself',
}

/** The home of Hermes (`~/.hermes`) or of one of its profiles. */
export async function readHermes(path: string): Promise<SourceLayout> {
  const layout: SourceLayout = { texts: [], skillRoots: [], leftOut: [] }
  for (const entry of await entriesOf(path)) {
    const { name } = entry
    if (entry.isFile() && isPromptFile(name)) layout.texts.push({ from: join(path, name), to: name })
    else if (name === 'skills' && entry.isDirectory()) layout.skillRoots.push(join(path, name))
    else if (name === 'memories' && entry.isDirectory()) await readMemories(join(path, name), layout)
    else if (!name.startsWith('.') || name.startsWith('.env')) layout.leftOut.push(leftOutOf(path, name, reasons))
  }
  return layout
}

/** MEMORY.md and USER.md lie there; whatever else does is a memory, too. */
async function readMemories(folder: string, layout: SourceLayout): Promise<void> {
  const found = await findTexts(folder, 'memory')
  layout.leftOut.push(...found.leftOut)
  for (const { from, to } of found.texts) {
    const name = to.slice('memory/'.length)
    layout.texts.push({ from, to: isPromptFile(name) ? name : to })
  }
}
