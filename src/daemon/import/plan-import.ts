import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { findHiddenIn } from '../../tools/contract/manifest/hidden-characters.ts'
import { findPlace } from './find-place.ts'
import type { ImportKind, LeftOut, PlannedFile, Planning } from './import-plan.ts'
import { planSkills } from './plan-skills.ts'
import { isPromptFile } from './prompt-files.ts'
import { readHermes } from './read-hermes.ts'
import { readOpenclaw } from './read-openclaw.ts'
import { readSourceText } from './source-folder.ts'
import type { SourceLayout, SourceText } from './source-layout.ts'
import { withoutKeys } from './without-keys.ts'

const mostBytes = 64_000_000
const agents: Record<ImportKind, { name: string; read(path: string): Promise<SourceLayout> }> = {
  openclaw: { name: 'OpenClaw', read: readOpenclaw },
  hermes: { name: 'Hermes', read: readHermes },
}

/** Looks at what another agent has left, and says what would become of it. Writes nothing, and runs nothing of it. */
export async function planImport(request: {
  kind: ImportKind
  path: string
  /** Of this home; it need not be there yet. */
  workspace: string
}): Promise<Planning> {
  const { kind, workspace } = request
  const path = await realpath(request.path).catch(() => undefined)
  if (path === undefined) return { ok: false, problem: `There is nothing at ${request.path}.` }
  const layout = await agents[kind].read(path)
  if (layout.texts.length === 0 && layout.skillRoots.length === 0) {
    return {
      ok: false,
      problem: `There is no workspace of ${agents[kind].name} at ${path}: no SOUL.md, no memories, no skills.`,
    }
  }
  const leftOut: LeftOut[] = [...layout.leftOut]
  const files: PlannedFile[] = []
  let bytes = 0
  for (const source of layout.texts) {
    const planned = await planText(source, { kind, workspace })
    if (!planned.ok) leftOut.push({ path: source.from, reason: planned.reason })
    else if (bytes + planned.file.text.length > mostBytes)
      leftOut.push({ path: source.from, reason: 'all is too much' })
    else {
      bytes += planned.file.text.length
      files.push(planned.file)
    }
  }
  const skills = await planSkills(layout.skillRoots, join(workspace, 'skills'))
  return {
    ok: true,
    plan: { kind, from: path, files, skills: skills.planned, leftOut: [...leftOut, ...skills.leftOut] },
  }
}

async function planText(
  { from, to: wanted }: SourceText,
  { kind, workspace }: { kind: ImportKind; workspace: string },
): Promise<{ ok: true; file: PlannedFile } | { ok: false; reason: string }> {
  const read = await readSourceText(from)
  if (!read.ok) return read
  const { text, count } = withoutKeys(kind === 'hermes' ? withoutSeparators(read.text) : read.text)
  if (text.trim() === '') return { ok: false, reason: 'it is empty' }
  // What stands in every prompt must be what it looks like; a memory is only read (SEC-14).
  const hidden = isPromptFile(wanted) ? findHiddenIn(text, wanted) : undefined
  if (hidden) return { ok: false, reason: `there is a character in it that cannot be seen, ${hidden.character}` }
  const place = await findPlace(workspace, { wanted, text })
  if (!place) return { ok: false, reason: `there are too many of this name in ${workspace}` }
  const notes = count === 0 ? [] : [`${count === 1 ? 'what looks like a key is' : `${count} keys are`} left out`]
  return { ok: true, file: { from, wanted, ...place, text, notes } }
}

/** Hermes keeps its entries apart with a line of `§`: here an empty line does that. */
function withoutSeparators(text: string): string {
  return text.replaceAll(/^[ \t]*§[ \t]*$/gm, '')
}
