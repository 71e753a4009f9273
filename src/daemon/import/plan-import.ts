import { constants, type Dirent } from 'node:fs'
import { open, readdir, realpath } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { findHiddenIn } from '../../base/text.ts'
import { findSkillFolders, importedFolder, loadSkillFolder } from '../../custom-tools/skill-folders.ts'
import { decodeIndexedFile } from '../../memory/files/index-files.ts'
import { describeFileError } from '../../memory/files/walk-files.ts'
import {
  findPlace,
  type ImportKind,
  type LeftOut,
  type PlannedFile,
  type PlannedSkill,
  type Planning,
} from './apply-import.ts'

const largestText = 2_000_000

/** Sorted by name; empty if there is no such folder. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => [])
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** A text of another agent. Never follows a link: its target was not named (SEC-11). */
async function readSourceText(path: string): Promise<{ ok: true; text: string } | { ok: false; reason: string }> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const found = await file.stat()
    if (!found.isFile()) return { ok: false, reason: 'it is not a file' }
    if (found.size > largestText) return { ok: false, reason: `it has more than ${largestText / 1_000_000} MB` }
    const decoded = decodeIndexedFile(await file.readFile())
    return decoded.ok ? { ok: true, text: decoded.text } : { ok: false, reason: 'it is not text' }
  } catch (cause) {
    return { ok: false, reason: describeFileError(cause).message }
  }
}

interface SourceText {
  from: string
  to: string
}

/** The parts of a folder, by the conventions of the agent that wrote it. */
interface SourceLayout {
  texts: SourceText[]
  /** Folders of folders with a SKILL.md. */
  skillRoots: string[]
  leftOut: LeftOut[]
}

/** The reason for each known name that is skipped; a general one for the others. */
function leftOutOf(path: string, name: string, reasons: Readonly<Record<string, string>>): LeftOut {
  const reason = Object.hasOwn(reasons, name) ? reasons[name] : undefined
  return { path: join(path, name), reason: reason ?? (isSecretName(name) ? secretReason : 'Familiar does not use it') }
}

const secretReason = 'it may contain keys; `familiar setup` asks for those that are needed'

/** By its name alone. */
function isSecretName(name: string): boolean {
  return /^(\.env.*|auth.*|credentials?.*|secrets?.*|.*\.(key|pem|p12|pfx)|id_(rsa|ed25519|ecdsa).*)$/i.test(name)
}

const deepest = 6
const maxTexts = 5_000

/** Adds every Markdown and plain text under a folder as a memory, with the same path; the others are listed as skipped. */
async function addMemories(layout: SourceLayout, folder: string, placeOf = (path: string) => path): Promise<void> {
  let count = 0
  await walk(folder, 'memory', 0)

  async function walk(current: string, target: string, depth: number): Promise<void> {
    for (const entry of await entriesOf(current)) {
      const path = join(current, entry.name)
      const to = posix.join(target, entry.name)
      const leave = (reason: string) => layout.leftOut.push({ path, reason })
      if (entry.name.startsWith('.') && !isSecretName(entry.name)) continue
      if (entry.isSymbolicLink()) leave('it is a link')
      else if (isSecretName(entry.name)) leave(secretReason)
      else if (entry.isDirectory()) {
        if (depth < deepest) await walk(path, to, depth + 1)
        else leave('it is nested too deeply')
      } else if (!entry.isFile() || !/\.(md|markdown|txt)$/i.test(entry.name)) leave('it is not text')
      else if (count >= maxTexts) leave(`there are more than ${maxTexts} files`)
      else {
        count += 1
        layout.texts.push({ from: path, to: placeOf(to) })
      }
    }
  }
}

/** The prompt files of a workspace; the same names here and in both other agents. */
const promptFiles = ['SOUL.md', 'AGENTS.md', 'USER.md', 'IDENTITY.md', 'TOOLS.md', 'HEARTBEAT.md', 'MEMORY.md'] as const

function isPromptFile(name: string): boolean {
  return promptFiles.some((file) => file === name)
}

const reasons: Record<string, string> = {
  'config.yaml': secretReason,
  'state.db': 'conversations are not imported',
  sessions: 'conversations are not imported',
  cron: 'create schedules again: familiar schedule add',
  profiles: 'import each by its own path',
  'hermes-agent': 'it is the program itself',
}

/** The home of Hermes (`~/.hermes`) or of one of its profiles. */
async function readHermes(path: string): Promise<SourceLayout> {
  const layout: SourceLayout = { texts: [], skillRoots: [], leftOut: [] }
  for (const entry of await entriesOf(path)) {
    const { name } = entry
    if (entry.isFile() && isPromptFile(name)) layout.texts.push({ from: join(path, name), to: name })
    else if (name === 'skills' && entry.isDirectory()) layout.skillRoots.push(join(path, name))
    else if (name === 'memories' && entry.isDirectory()) await addMemories(layout, join(path, name), placeOfHermes)
    else if (isWorthNaming(name)) layout.leftOut.push(leftOutOf(path, name, reasons))
  }
  return layout
}

/** MEMORY.md and USER.md are among its memories. */
function placeOfHermes(path: string): string {
  const name = path.slice('memory/'.length)
  return isPromptFile(name) ? name : path
}

const openclawReasons: Record<string, string> = {
  'BOOTSTRAP.md': 'it is for the first run of OpenClaw',
  'BOOT.md': 'it is for the start of OpenClaw',
  canvas: 'it belongs to the displays of OpenClaw',
  'openclaw.json': secretReason,
  'clawdbot.json': secretReason,
  'moltbot.json': secretReason,
  agents: 'conversations are not imported, and keys may be beside them',
  sessions: 'conversations are not imported',
  cron: 'create schedules again: familiar schedule add',
}

/** A workspace of OpenClaw, or the folder (`~/.openclaw`) that contains one and the installed skills. */
async function readOpenclaw(path: string): Promise<SourceLayout> {
  const layout: SourceLayout = { texts: [], skillRoots: [], leftOut: [] }
  const entries = await entriesOf(path)
  const hasWorkspace = entries.some((entry) => entry.name === 'workspace' && entry.isDirectory())
  await readWorkspace(hasWorkspace ? join(path, 'workspace') : path, layout)
  if (!hasWorkspace) return layout
  for (const entry of entries) {
    if (entry.name === 'skills' && entry.isDirectory()) layout.skillRoots.push(join(path, entry.name))
    else if (entry.name !== 'workspace' && isWorthNaming(entry.name)) {
      layout.leftOut.push(leftOutOf(path, entry.name, openclawReasons))
    }
  }
  return layout
}

async function readWorkspace(workspace: string, layout: SourceLayout): Promise<void> {
  const entries = await entriesOf(workspace)
  const names = new Set(entries.map(({ name }) => name))
  for (const entry of entries) {
    const path = join(workspace, entry.name)
    // Its earlier name.
    const name = entry.name === 'memory.md' && !names.has('MEMORY.md') ? 'MEMORY.md' : entry.name
    if (entry.isFile() && isPromptFile(name)) layout.texts.push({ from: path, to: name })
    else if (entry.name === 'skills' && entry.isDirectory()) layout.skillRoots.push(path)
    else if (entry.name === 'memory' && entry.isDirectory()) await addMemories(layout, path)
    else if (entry.isSymbolicLink()) layout.leftOut.push({ path, reason: 'it is a link' })
    else if (isWorthNaming(entry.name)) layout.leftOut.push(leftOutOf(workspace, entry.name, openclawReasons))
  }
}

/** Hidden files are not mentioned, except those that people may look for. */
function isWorthNaming(name: string): boolean {
  return !name.startsWith('.') || name.startsWith('.env')
}

const maxBytes = 64_000_000
const agents: Record<ImportKind, { name: string; read(path: string): Promise<SourceLayout> }> = {
  openclaw: { name: 'OpenClaw', read: readOpenclaw },
  hermes: { name: 'Hermes', read: readHermes },
}

/** Reads another agent's files, and returns a plan. Writes nothing, and runs nothing of it. */
export async function planImport(request: {
  kind: ImportKind
  path: string
  /** Of this home; it need not exist yet. */
  workspace: string
}): Promise<Planning> {
  const { kind, workspace } = request
  const path = await realpath(request.path).catch(() => undefined)
  if (path === undefined) return { ok: false, problem: `There is nothing at ${request.path}.` }
  const layout = await agents[kind].read(path)
  if (layout.texts.length === 0 && layout.skillRoots.length === 0) {
    const problem = `No ${agents[kind].name} workspace was found at ${path}: no SOUL.md, no memories, no skills.`
    return { ok: false, problem }
  }
  const leftOut: LeftOut[] = [...layout.leftOut]
  const files: PlannedFile[] = []
  let bytes = 0
  for (const source of layout.texts) {
    const planned = await planText(source, { kind, workspace })
    if (!planned.ok) leftOut.push({ path: source.from, reason: planned.reason })
    else if (bytes + planned.file.text.length > maxBytes)
      leftOut.push({ path: source.from, reason: 'the total size is too large' })
    else {
      bytes += planned.file.text.length
      files.push(planned.file)
    }
  }
  const skills = await planSkills(layout.skillRoots, join(workspace, 'skills'))
  leftOut.push(...skills.leftOut)
  return { ok: true, plan: { kind, from: path, files, skills: skills.planned, leftOut } }
}

async function planText(
  { from, to: wanted }: SourceText,
  { kind, workspace }: { kind: ImportKind; workspace: string },
): Promise<{ ok: true; file: PlannedFile } | { ok: false; reason: string }> {
  const read = await readSourceText(from)
  if (!read.ok) return read
  // Hermes separates its entries with a line of `§`: here an empty line does that.
  const separated = kind === 'hermes' ? read.text.replaceAll(/^[ \t]*§[ \t]*$/gm, '') : read.text
  const { text, count } = withoutKeys(separated)
  if (text.trim() === '') return { ok: false, reason: 'it is empty' }
  // Prompt files must be what they look like; a memory is only read (SEC-14).
  const hidden = isPromptFile(wanted) ? findHiddenIn(text, wanted) : undefined
  if (hidden) return { ok: false, reason: `it contains an invisible character, ${hidden.character}` }
  const place = await findPlace(workspace, { wanted, text })
  if (!place) return { ok: false, reason: `too many files of this name exist in ${workspace}` }
  const notes = count === 0 ? [] : [`${count === 1 ? 'what looks like a key is' : `${count} keys are`} left out`]
  return { ok: true, file: { from, wanted, ...place, text, notes } }
}

// Known key formats: OpenAI and similar, GitHub, Slack, Amazon, Google, Telegram, signed tokens, private keys.
const shapes = [
  /\bsk-[\w-]{20,}/g,
  /\bgh[opsur]_\w{30,}|\bgithub_pat_\w{40,}/g,
  /\bxox[abeprs]-[\w-]{10,}/g,
  /\bA[KS]IA[0-9A-Z]{16}\b/g,
  /\bAIza[\w-]{35}/g,
  /\b\d{8,10}:[\w-]{35}(?![\w-])/g,
  /\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
]

/** The text without known key formats, and how many there were. Other keys are not recognized. */
export function withoutKeys(text: string): { text: string; count: number } {
  let count = 0
  let rest = text
  for (const shape of shapes) {
    rest = rest.replace(shape, () => {
      count += 1
      return '[a key was removed here]'
    })
  }
  return { text: rest, count }
}

/**
 * Skills are stored with other imported ones, where they stay off until the owner approves them (SEC-14). A skill whose
 * name is taken is skipped.
 */
async function planSkills(
  roots: readonly string[],
  skillsDirectory: string,
): Promise<{ planned: PlannedSkill[]; leftOut: LeftOut[] }> {
  const imported = join(skillsDirectory, importedFolder)
  const own = await loadAll([
    { path: skillsDirectory, origin: 'workspace' },
    { path: imported, origin: 'imported' },
  ])
  const taken = new Map(own.map(({ entry }) => [entry.name, entry]))
  const planned: PlannedSkill[] = []
  const leftOut: LeftOut[] = []
  for (const { entry, folder } of await loadAll(roots.map((path) => ({ path, origin: 'imported' })))) {
    const other = taken.get(entry.name)
    const leave = (reason: string) => leftOut.push({ path: entry.directory, reason })
    const key = folder?.files.find(({ bytes }) => holdsKey(bytes))
    if (entry.kind === 'wrong') leave(entry.problem)
    else if (other?.kind === 'skill' && other.hash === entry.hash) leave('it already exists')
    else if (other) leave(`a skill named ${entry.name} already exists`)
    else if (key) leave(`${key.path} contains what looks like a key`)
    else {
      taken.set(entry.name, entry)
      const to = join('skills', importedFolder, entry.name)
      const { name, directory: from, hash } = entry
      planned.push({ name, from, to, hash, files: entry.files.length + 1 })
    }
  }
  return { planned, leftOut }
}

async function loadAll(roots: Parameters<typeof findSkillFolders>[0]) {
  const { folders } = await findSkillFolders(roots)
  return Array.fromAsync(folders, (found) => loadSkillFolder(found))
}

function holdsKey(bytes: Uint8Array): boolean {
  const decoded = decodeIndexedFile(bytes)
  return decoded.ok && withoutKeys(decoded.text).count > 0
}
