import { join, parse } from 'node:path'
import type { CommandServices } from '../agent/commands/command.ts'
import { createCommands } from '../agent/commands/create-commands.ts'
import type { Conversations } from '../agent/conversations.ts'
import type { WorkspaceRoles } from '../agent/roles.ts'
import { asData } from '../agent/sessions/projection.ts'
import type { ExpandMessage, ReadAttachments } from '../agent/turn.ts'
import { dayOf, formatDay } from '../base/clock.ts'
import { createTextFileCache } from '../base/files.ts'
import { sha256 } from '../base/ids.ts'
import { createRunChild } from '../base/processes.ts'
import { plural } from '../base/text.ts'
import { estimateTokens } from '../base/tokens.ts'
import { createSkills } from '../custom-tools/skills.ts'
import { kindOfRecording } from '../models/speech/recordings.ts'
import type { Transcriber } from '../models/speech/transcriber.ts'
import { type MediaPart, type MediaReading, quotedHistoryType } from '../protocol/messages.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { MediaStore } from '../storage/media-store.ts'
import {
  type AssetNeeds,
  createAssetTools,
  createBlockRefusals,
  createReadDocument,
  type DocumentText,
  type ReadDocument,
} from '../tools/builtin/file-tools.ts'
import { createImageTool, type DrawPictures, type ImageToolNeeds } from '../tools/builtin/generate-image.ts'
import { createSlashCommand } from '../tools/builtin/message.ts'
import { createExecTool, type PackagesOf } from '../tools/builtin/outside-tools.ts'
import { createScheduleTools } from '../tools/builtin/schedule-tools.ts'
import { createReadPage } from '../tools/documents/read-page.ts'
import { type AssetActor, type AssetFailure, failure } from '../tools/files/assets.ts'
import {
  describeSystemError,
  type FileBounds,
  inFolderOf,
  locateFile,
  readFileBytes,
} from '../tools/files/file-backend.ts'
import { createFinders } from '../tools/files/finders.ts'
import { type Assets, openAssets, type UntrustedFiles } from '../tools/files/open-assets.ts'
import { describeBlocks, namedBlockUri } from '../tools/files/pins.ts'
import { expandReferences, fenced, imageTypeOf, oneLineName, type ReferenceText } from '../tools/files/references.ts'
import { createWorkbench } from '../tools/files/workbench.ts'
import type { ToolRegistry } from '../tools/registry.ts'
import type { Essentials } from './daemon.ts'
import { createSchedules } from './scheduler/create-schedules.ts'

export type OpenWorkspace = ReturnType<typeof openWorkspace>

/** The shared work of user and agent, wired: files and blocks, skills, schedules, commands. */
export function openWorkspace(
  dependencies: Essentials & {
    registry: ToolRegistry
    conversations: Conversations
    sandbox: Sandbox
    media: MediaStore
    ownerId: string
    packagesOf: PackagesOf
    voice: { transcriber: Pick<Transcriber, 'status' | 'transcribe'> }
    /** Of programs on this machine. */
    environment: Readonly<Record<string, string>>
    images: ImageToolNeeds['images']
    drawPictures: DrawPictures
  } & Pick<
      CommandServices,
      'memory' | 'capabilities' | 'costReport' | 'modelsOf' | 'chooseModel' | 'permissions' | 'askModel'
    >,
) {
  const { config, atStart, paths, registry, database, ownerId, clock } = dependencies
  // The home itself is closed: keys and data lie there. Files are the owner's; others have blocks.
  const rootsOf = (userId: string) =>
    userId === ownerId
      ? [
          { path: paths.workspace, trust: 'owner' as const },
          ...atStart.assets.roots.map((path) => ({ path, trust: 'untrusted' as const })),
        ]
      : []
  const attachments = { path: join(paths.workspace, attachmentsFolder), trust: 'untrusted' as const }
  const boundsOf = (userId: string) => {
    const roots = rootsOf(userId)
    return { roots: roots.length > 0 ? [...roots, attachments] : [], closed: [paths.root] }
  }
  const readDocument = createReadDocument({ readPage: createReadPage({ runChild: createRunChild({ clock }) }) })
  const opened = openAssets({
    database,
    clock,
    budget: () => config().assets.blockBudgetTokens,
    boundsOf,
    promptFiles: () => Object.values(config().agent.context.profiles).flat(),
    promptFolders: () => config().skills.directories,
  })
  const finders = createFinders({
    rootsOf: (userId) => rootsOf(userId).map(({ path }) => path),
    closed: [paths.root],
    async labelsOf(userId) {
      const blocks = database.read.selectFrom('blocks').select('label').where('user_id', '=', userId)
      return (await blocks.where('is_deleted', '=', 0).execute()).map(({ label }) => label)
    },
    clock,
  })
  const workbench = createWorkbench({
    ...dependencies,
    ...opened,
    boundsOf,
    foldersOf: () => [],
    putMedia: dependencies.media.put,
    async activeSessions(ids) {
      if (ids.length === 0) return new Set()
      const rows = database.read.selectFrom('sessions').select('id').where('id', 'in', ids)
      return new Set((await rows.where('state', '=', 'active').execute()).map(({ id }) => id))
    },
    replacedDirectory: paths.replacedFiles,
  })
  const skills = createSkills({
    ...dependencies,
    workbench,
    directory: paths.skills,
    directories: () => config().skills.directories,
    cacheDirectory: paths.cache,
    isEnabled: () => config().tools.enabled,
  })
  const readTextFile = createTextFileCache(clock, 0)
  const schedules = createSchedules({
    ...dependencies,
    async readHeartbeat(userId) {
      const text = userId === ownerId ? readTextFile(join(paths.workspace, 'HEARTBEAT.md')) : undefined
      // The agent cannot write it (SEC-4).
      return text === undefined ? undefined : { text, label: 'owner' }
    },
  })
  const { redact } = dependencies.redactor
  const commands = createCommands({ ...dependencies, ...opened, redact, skills, schedules, tools: registry })
  const refusals = createBlockRefusals()
  const tools = [
    ...createAssetTools({ ...opened, refusals, ...documentsIn(boundsOf, readDocument, opened.untrusted) }),
    ...createScheduleTools({ schedules }),
    ...skills.tools,
    createSlashCommand({ commands, refusals }),
    createImageTool({ ...dependencies, addFile: workbench.add }),
    createExecTool({
      workbench,
      packagesOf: dependencies.packagesOf,
      withSkills: skills.withMounts,
      runChild: createRunChild({ clock }),
      settings: () => config().tools.exec,
      workspace: paths.workspace,
      environment: dependencies.environment,
    }),
  ]
  for (const tool of tools) registry.add(tool)

  return {
    assets: opened,
    readDocument,
    finders,
    skills,
    schedules,
    commands,
    roles: {
      blocks({ userId, agent }) {
        // Skills belong to the owner, like tools.
        const lines = userId === ownerId ? skills.lines() : undefined
        return [
          ...(lines ? [{ name: 'skills', layer: 'semi_stable' as const, text: lines }] : []),
          ...(userId === ownerId ? skills.alwaysOn() : []),
          { name: 'blocks', layer: 'semi_stable' as const, text: describeBlocks(config().assets.blockBudgetTokens) },
          ...opened.pinned.of(userId, agent),
        ]
      },
      seen: ({ userId, agent }) => opened.pinned.seen(userId, agent),
      expand: createExpandMessage({ ...opened, boundsOf, media: dependencies.media }),
      readAttachments: createReadAttachments({ ...dependencies, ...dependencies.voice, boundsOf, readDocument }),
      onForked: ({ userId }) => opened.pinned.refresh(userId),
    } satisfies WorkspaceRoles,
    async start() {
      await Promise.all([opened.pinned.start(), skills.reload()])
    },
    lead: () => schedules.start(),
    reload: () => skills.reload(),
    /** After another daemon wrote blocks or pins. */
    readPins: opened.pinned.start,
    readSchedules: schedules.look,
    async stop() {
      await schedules.close()
      await Promise.all([skills.close(), finders.close(), workbench.close()])
    },
  }
}

const maxDocumentBytes = 64_000_000
const keptDocuments = 4

/** Files that are not plain text, as text for `file_read`. The newest few are cached: they are read page by page. */
function documentsIn(
  boundsOf: (userId: string) => FileBounds,
  readDocument: ReadDocument,
  untrusted: Pick<UntrustedFiles, 'has'>,
): Required<Pick<AssetNeeds, 'readDocument'>> {
  const kept = new Map<string, string>()
  return {
    async readDocument({ userId, path, signal }) {
      const file = await readFileBytes(boundsOf(userId), { path, maxBytes: maxDocumentBytes })
      if (!file.ok) return file
      const { data } = file
      const key = sha256(data)
      const trust = (await untrusted.has(userId, key)) ? ('untrusted' as const) : file.trust
      const known = kept.get(key)
      if (known !== undefined) return { ok: true, path: file.path, text: known, trust }
      const read = await readDocument({ name: file.path, mediaType: '', bytes: data }, signal)
      if (!read.ok) return failure('binary', `${file.path} ${read.reason}.`)
      const text = read.isCut ? `${read.text}\n[The file continues; only this much can be read.]` : read.text
      kept.set(key, text)
      for (const old of [...kept.keys()].slice(0, -keptDocuments)) kept.delete(old)
      return { ok: true, path: file.path, text, trust }
    },
  }
}

/** Resolves references in a message to the user's files and blocks. */
function createExpandMessage(needs: {
  assets: Pick<Assets, 'read' | 'load'>
  boundsOf(userId: string): FileBounds
  media: Pick<MediaStore, 'put'>
  untrusted: Pick<UntrustedFiles, 'has'>
}): ExpandMessage {
  const { assets, boundsOf, media, untrusted } = needs
  /** For an oversized file, its beginning. */
  async function read(userId: string, path: string): Promise<ReferenceText | AssetFailure> {
    const actor: AssetActor = { userId, author: 'user', agent: 'main', trust: 'owner' }
    const whole = await assets.load(actor, { path })
    if (whole.ok) return { ok: true, path: whole.path, text: whole.content, note: null, trust: whole.trust }
    return whole.code === 'too_large' ? assets.read(actor, { path }) : whole
  }

  return ({ userId, text, signal }) =>
    expandReferences({
      text,
      userId,
      signal,
      readFile: ({ path }) => read(userId, path),
      readBlock: ({ path }) => read(userId, namedBlockUri(path)),
      async readBytes({ path, maxBytes }) {
        const file = await readFileBytes(boundsOf(userId), { path, maxBytes })
        if (!file.ok || !(await untrusted.has(userId, sha256(file.data)))) return file
        return { ...file, trust: 'untrusted' }
      },
      keepMedia: media.put,
      asData,
    })
}

/** In the workspace. Its files are often untrusted. */
const attachmentsFolder = 'attachments'

const maxNames = 1_000

/**
 * Reads a message's attachments: text, PDF and Office files become part of the message up to a limit, and each file is
 * saved in the user's workspace, where the model's tools can open it. Every problem is a note; nothing else is lost.
 */
function createReadAttachments(
  dependencies: Essentials & {
    boundsOf(userId: string): FileBounds
    media: Pick<MediaStore, 'load'>
    readDocument: ReadDocument
    transcriber: Pick<Transcriber, 'status' | 'transcribe'>
  },
): ReadAttachments {
  const { boundsOf, media, readDocument, transcriber, timeZone, clock, logger } = dependencies

  /** Undefined if the user has no workspace, or the file could not be written. */
  async function save(userId: string, name: string, bytes: Uint8Array): Promise<string | undefined> {
    const { roots, closed } = boundsOf(userId)
    if (roots.length === 0) return undefined
    // From the workspace down: the attachments folder may not exist yet.
    const bounds = { roots: roots.slice(0, 1), closed }
    const day = `${attachmentsFolder}/${formatDay(dayOf(clock.now(), timeZone))}`
    for (let number = 1; number <= maxNames; number += 1) {
      const path = `${day}/${numbered(safeName(name), number)}`
      const saved = await saveAs(bounds, path, bytes).catch((cause: unknown) => {
        logger.warn('could not save an attachment in the workspace', { path, error: cause })
        return 'failed' as const
      })
      if (saved === 'saved') return path
      if (saved === 'failed') return undefined
    }
    return undefined
  }

  async function hear(
    part: MediaPart,
    data: Uint8Array,
    { room, path, signal }: { room: number; path: string | undefined; signal: AbortSignal },
  ): Promise<MediaReading> {
    const { mediaType } = part
    const able = transcriber.status()
    const heard = able.by === null ? null : await transcriber.transcribe({ data, mediaType, signal })
    if (!heard?.ok) {
      const reason = (heard?.reason ?? (able.by === null ? able.hint : '')).replace(/[.\s]+$/, '')
      return unreadable(part, `was not transcribed: ${reason}`, path)
    }
    const saved = path === undefined ? '' : ` It is saved as ${path}.`
    if (heard.text.trim() === '') {
      const name = oneLineName(part.name)
      return {
        state: 'file',
        note: `${name} contains no speech.`,
        text: `[Attached: ${name} (${mediaType}, ${part.bytes} bytes). It contains no speech.${saved}]`,
        ...(path !== undefined && { path }),
      }
    }
    const read = asText(part, { ok: true, text: heard.text, isCut: false }, { room, path })
    return read.state === 'text' ? { ...read, note: `Transcribed by ${heard.by}.` } : read
  }

  async function readOne(
    part: MediaPart,
    asked: { userId: string; room: number; signal: AbortSignal },
  ): Promise<MediaPart> {
    const { userId, room, signal } = asked
    // A voice message is transcribed when it arrives. A quoted one is already in the message, between fences; the file only marks it as untrusted.
    if (part.reading) return part
    if (part.mediaType === quotedHistoryType) return { ...part, reading: { state: 'text', note: '', text: '' } }
    let bytes: Uint8Array
    try {
      bytes = await media.load(part.hash)
    } catch {
      return { ...part, reading: unreadable(part, 'is missing: its file is gone', undefined) }
    }
    const path = await save(userId, part.name, bytes)
    const image = imageTypeOf(bytes)
    if (image) return { ...part, mediaType: image, reading: { state: 'image', note: '', ...(path && { path }) } }
    if (part.mediaType.startsWith('image/') && part.mediaType !== 'image/svg+xml') {
      return { ...part, reading: unreadable(part, `is ${part.mediaType}, which models cannot see`, path) }
    }
    if (isRecording(part, bytes)) {
      return { ...part, reading: await hear(part, bytes, { room, path, signal }) }
    }
    const read = await readDocument({ name: part.name, mediaType: part.mediaType, bytes }, signal)
    return { ...part, reading: read.ok ? asText(part, read, { room, path }) : unreadable(part, read.reason, path) }
  }

  return async ({ userId, media: parts, maxTokens, signal }) => {
    const done: MediaPart[] = []
    let room = maxTokens
    for (const part of parts) {
      signal.throwIfAborted()
      const read = await readOne(part, { userId, room, signal })
      room -= estimateTokens(read.reading?.text ?? '')
      done.push(read)
    }
    return done
  }
}

/** Many programs declare no type, or a general one. */
function isRecording({ mediaType }: MediaPart, bytes: Uint8Array): boolean {
  if (mediaType.startsWith('audio/')) return true
  return mediaType === 'application/octet-stream' && kindOfRecording(bytes) !== 'other'
}

function unreadable(part: MediaPart, reason: string, path: string | undefined): MediaReading {
  const saved = path === undefined ? '' : ` It is saved as ${path}.`
  return {
    state: 'unreadable',
    note: `${oneLineName(part.name)} ${reason}.`,
    text: `[Attached: ${oneLineName(part.name)} (${part.mediaType}, ${part.bytes} bytes). Not shown: it ${reason}.${saved}]`,
    ...(path !== undefined && { path }),
  }
}

function asText(
  part: MediaPart,
  read: Extract<DocumentText, { ok: true }>,
  { room, path }: { room: number; path: string | undefined },
): MediaReading {
  const name = oneLineName(part.name)
  const saved = path !== undefined && { path }
  if (read.text.trim() === '') {
    const where = path === undefined ? '' : ` It is saved as ${path}.`
    return {
      state: 'file',
      note: `${name} contains no text; it may be scanned. Only models that read PDF files can see it.`,
      text: `[Attached: ${name} (${part.mediaType}, ${part.bytes} bytes). It contains no text.${where}]`,
      ...saved,
    }
  }
  const shown = fitting(read.text, room)
  const block = (note: string | null) => fenced({ name: `attachment ${name}`, content: asData(shown), note })
  const pages = read.pages
  if (shown.length === read.text.length && !read.isCut) {
    const count = pages ? `, ${plural(pages.total, unitOf(read.text))}` : ''
    return {
      state: 'text',
      note: `Sent as text${count}.`,
      text: block(path === undefined ? null : `[Saved as ${path}.]`),
      ...saved,
    }
  }
  const lines = countLines(shown)
  const amount = pages
    ? // The last one perhaps in part.
      `First ${Math.max(1, shown.match(pageMark)?.length ?? 0)} of ${plural(pages.total, unitOf(read.text))}`
    : `First ${lines.toLocaleString('en')} of ${plural(countLines(read.text), 'line')}`
  const sent = shown === '' ? 'Not sent: the limit for the files of one message is reached' : `${amount} sent as text`
  const rest = path === undefined ? '' : `; the rest is in ${path}`
  const readOn =
    path === undefined
      ? 'The rest was not sent.'
      : `Continue with file_read, path "${path}", offset ${lines + (shown.endsWith('\n') || shown === '' ? 1 : 0)}.`
  return {
    state: 'partial',
    note: `${sent}${rest}.`,
    text: shown === '' ? `[Attached: ${name}. ${sent}. ${readOn}]` : block(`[${amount} shown. ${readOn}]`),
    ...saved,
  }
}

/** As much of the beginning as fits, up to the end of a line. */
function fitting(text: string, room: number): string {
  const tokens = estimateTokens(text)
  if (tokens <= room) return text
  if (room <= 0) return ''
  const length = Math.floor((text.length * room) / tokens)
  const end = text.lastIndexOf('\n', length)
  return text.slice(0, end > length / 2 ? end + 1 : length).toWellFormed()
}

const pageMark = /^(?:\[page \d+ of \d+\]|## (?:Slide|Sheet:?) .*)$/gm

function unitOf(text: string): string {
  if (text.startsWith('## Sheet')) return 'sheet'
  return text.startsWith('## Slide') ? 'slide' : 'page'
}

function countLines(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}

/** A name that is not a path, hidden file or option, and valid on any file system. */
function safeName(name: string): string {
  const plain = name
    .normalize('NFC')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}/\\:*?"<>|]/gu, '_')
    .replaceAll(/\s+/g, ' ')
    .replace(/^[.\s-]+/, '')
    .replace(/[.\s]+$/, '')
  const { name: stem, ext } = parse(plain)
  let short = stem
  while (Buffer.byteLength(short) > 120) short = [...short].slice(0, -1).join('')
  return `${short || 'file'}${ext.slice(0, 20)}`
}

function numbered(name: string, number: number): string {
  if (number === 1) return name
  const { name: stem, ext } = parse(name)
  return `${stem}-${number}${ext}`
}

/** The same bytes under the same name are the same file: a repeated turn saves nothing twice. */
async function saveAs(bounds: FileBounds, path: string, bytes: Uint8Array): Promise<'saved' | 'taken' | 'failed'> {
  const location = await locateFile(bounds, path)
  if (!location.ok) return 'failed'
  const saved = await inFolderOf(
    location,
    async (folder, name): Promise<'saved' | 'taken'> => {
      const found = await folder.look(name).catch(() => undefined)
      if (found) {
        if (!found.isFile() || found.size !== bytes.length) return 'taken'
        const there = await folder.read(name, bytes.length)
        return there.bytes && Buffer.compare(there.bytes, bytes) === 0 ? 'saved' : 'taken'
      }
      await folder.write(name, bytes, 0o600)
      return 'saved'
    },
    { make: true },
  ).catch((cause: unknown): AssetFailure => describeSystemError(cause, path))
  return typeof saved === 'string' ? saved : 'failed'
}
