import { z } from 'zod'
import { formatCount } from '../../base/text.ts'
import { setNewest } from '../../base/work.ts'
import type { Label } from '../../protocol/messages.ts'
import { cleanForeignText, detectText } from '../documents/foreign-text.ts'
import type { ReadPage } from '../documents/read-page.ts'
import { type AssetActor, type AssetFailure, type AssetWritten, cutPage } from '../files/assets.ts'
import type { Assets } from '../files/open-assets.ts'
import { blockUri, type Pins } from '../files/pins.ts'
import { imageTypeOf } from '../files/references.ts'
import { defineTool, failed, succeeded, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts'
import { saidByUser } from './memory-forget.ts'

/** The reason follows the file name: `is encrypted; send it without a password`. */
export type DocumentText =
  | { ok: true; text: string; isCut: boolean; pages?: { read: number; total: number } | undefined }
  | { ok: false; reason: string }

/** Converts any file to text, by its content. Throws only the signal's reason. */
export type ReadDocument = (
  file: { name: string; mediaType: string; bytes: Uint8Array },
  signal: AbortSignal,
) => Promise<DocumentText>

/** Text is decoded here; PDF and Office files are read in a separate process, within limits. */
export function createReadDocument({ readPage }: { readPage: ReadPage }): ReadDocument {
  return async ({ name, mediaType, bytes }, signal) => {
    if (bytes.length === 0) return { ok: false, reason: 'is empty' }
    const kind = packedKindOf(bytes)
    if (kind === 'old-office') return { ok: false, reason: oldOfficeReason(bytes) }
    if (kind !== undefined) {
      const read = await readPage({ kind, contentType: mediaType, address: name, bytes }, signal)
      if (!read.ok) return { ok: false, reason: reasonOf(read.message) }
      const { text, isCut, pages } = read
      return { ok: true, text, isCut: isCut || (pages !== undefined && pages.read < pages.total), pages }
    }
    if (imageTypeOf(bytes)) return { ok: false, reason: 'is an image' }
    const text = detectText(bytes)
    if (text !== undefined && text.trim() === '') return { ok: false, reason: 'is empty' }
    if (text !== undefined) return { ok: true, text: cleanForeignText(text), isCut: false }
    const played = /^(audio|video)\//.exec(mediaType)?.[1]
    if (played) return { ok: false, reason: `is ${played}, which cannot be sent to the model` }
    const ending = /\.(pdf|docx|xlsx|pptx|odt|ods|odp)$/i.exec(name)?.[1]?.toLowerCase()
    if (ending) return { ok: false, reason: `is damaged, or is not a .${ending} file` }
    return { ok: false, reason: 'is a type of file that cannot be read as text' }
  }
}

function packedKindOf(bytes: Uint8Array): 'pdf' | 'office' | 'old-office' | undefined {
  const start = Buffer.from(bytes.subarray(0, 1_024)).toString('latin1')
  if (start.includes('%PDF-')) return 'pdf'
  if (start.startsWith('PK\x03\x04')) return 'office'
  return start.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1') ? 'old-office' : undefined
}

/** An encrypted Office file has the container of the formats before 2007. */
function oldOfficeReason(bytes: Uint8Array): string {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return data.includes(Buffer.from('EncryptedPackage', 'utf16le'))
    ? 'is encrypted; send it without a password'
    : 'is in an old Office format; save it as .docx, .xlsx or .pptx'
}

function reasonOf(message: string): string {
  if (message === 'it is encrypted') return 'is encrypted; send it without a password'
  if (message === 'it is an archive, not a document') return 'is an archive; send the files in it'
  if (message === 'reading it took too long') return 'takes too long to read'
  if (message.startsWith('it is too large')) return 'is too large to read, or damaged'
  return 'is damaged'
}

export interface AssetNeeds {
  assets: Pick<Assets, 'read' | 'write' | 'edit'>
  readDocument?(asked: {
    userId: string
    path: string
    signal: AbortSignal
  }): Promise<{ ok: true; path: string; text: string; trust: Label } | AssetFailure>
  agentOf(userId: string, sessionId: string): Promise<string>
}

/** The agent as author of `text`. After untrusted content the text may be untrusted, unless the user just said it. */
async function actorOf(needs: AssetNeeds, context: ToolContext, text = ''): Promise<AssetActor> {
  const { userId, sessionId, seen, userText } = context
  const isOthers = seen.untrusted && !saidByUser(text, userText)
  const agent = await needs.agentOf(userId, sessionId)
  return { userId, author: 'agent', agent, trust: isOthers ? 'untrusted' : 'internal' }
}

function readOutcome(
  { text: whole, note, lines }: { text: string; note: string | null; lines: number },
  ifEmpty: string,
  label: Label,
): ToolOutcome {
  const text = lines === 0 ? ifEmpty : whole
  const shown = note === null ? text : `${text}${text.endsWith('\n') ? '' : '\n'}${note}`
  return { text: shown, isError: false, isPrivate: true, label }
}

const maxSeen = 5_000
const maxRefusals = 5
const maxTurns = 1_000

export type BlockRefusals = ReturnType<typeof createBlockRefusals>

/**
 * Counts the refusals of the block budget per turn. After the last one, blocks stay as they are until the next message,
 * so that an agent that finds no room cannot go on forever (ASSET-8).
 */
export function createBlockRefusals() {
  const counts = new Map<string, number>()
  const closed =
    'Blocks cannot be changed any more in this turn, because their budget was exceeded too often. Tell the user what ' +
    'does not fit, and let them choose what to shorten or unpin.'
  return {
    /** The reason why the turn may not change blocks any more. */
    closed: (turnId: string) => ((counts.get(turnId) ?? 0) >= maxRefusals ? closed : undefined),
    refuse(turnId: string, message: string): ToolOutcome {
      const count = (counts.get(turnId) ?? 0) + 1
      setNewest(counts, turnId, count, maxTurns)
      if (count >= maxRefusals) return failed(`${message} ${closed}`)
      const next =
        'Next: file_read a large block, file_write it in fewer words, or slash_command "/unpin NAME"; then try again.'
      const left = `Attempts left in this turn: ${maxRefusals - count}.`
      return { ...failed(`${message} ${next} ${left}`), foundTools: ['slash_command'] }
    },
  }
}

/** Files and blocks, for the model: the same three tools for both (ASSET-1). */
export function createAssetTools(
  needs: AssetNeeds & { assets: Pick<Assets, 'stat' | 'history'>; pins: Pick<Pins, 'list'>; refusals: BlockRefusals },
): Tool[] {
  const { refusals } = needs
  /** The last version of a file that each session saw, so that it does not overwrite unseen changes. */
  const etags = new Map<string, string>()

  function noteSeen({ sessionId }: ToolContext, { uri, etag }: { uri: string; etag: string | null }): void {
    if (etag === null) etags.delete(`${sessionId} ${uri}`)
    else setNewest(etags, `${sessionId} ${uri}`, etag, maxSeen)
  }

  const isBlock = (path: string) => /^(?:familiar|ikigai):/i.test(path.trim())

  function refuse({ code, message }: AssetFailure, { turnId }: ToolContext): ToolOutcome {
    return code === 'budget' ? refusals.refuse(turnId, message) : failed(message)
  }

  /** The size of a changed pinned block, what the budget still has, and how the user gets their own text back. */
  async function changedBlock(actor: AssetActor, { path, version }: AssetWritten): Promise<string> {
    if (!isBlock(path)) return ''
    const pinned = await needs.pins.list(actor)
    if (!pinned.pins.some(({ label }) => blockUri(label) === path)) return ''
    const known = await needs.assets.history(actor, { path })
    const versions = known.ok ? known.versions : []
    const now = versions.find((one) => one.version === version)
    const before = versions.find((one) => one.version < version)
    if (!now) return ''
    const sizes =
      before?.content == null ? formatCount(now.tokens) : `${formatCount(before.tokens)} → ${formatCount(now.tokens)}`
    const total = `pinned blocks use ${formatCount(pinned.tokens)} of ${formatCount(pinned.budget)}`
    const isUsers = before?.author === 'user' && before.content !== null
    return ` ${sizes} tokens; ${total}.${isUsers ? ` The user's own text is version ${before.version}.` : ''}`
  }

  /** The shown text is not what an edit would change, so it does not count as seen. */
  async function readAsText(
    { path, offset, limit }: { path: string; offset?: number | undefined; limit?: number | undefined },
    { userId, signal }: ToolContext,
  ): Promise<ToolOutcome> {
    const read = await needs.readDocument?.({ userId, path, signal })
    if (!read?.ok) return failed(read?.message ?? `${path} is not text.`)
    const page = cutPage(read.text, { offset, limit })
    return page.ok ? readOutcome(page, `[${read.path} contains no text]`, read.trust) : failed(page.message)
  }

  return [
    defineTool({
      name: 'file_read',
      description: 'Read a file of the workspace (text, PDF, Office), or a block: familiar:///blocks/x.md.',
      input: z.object({
        path: z.string().min(1),
        offset: z.int().min(1).optional().describe('first line'),
        limit: z.int().min(1).optional().describe('lines'),
      }),
      effect: 'idempotent',
      core: true,
      async run({ path, offset, limit }, context) {
        const read = await needs.assets.read(await actorOf(needs, context), { path, offset, limit })
        if (!read.ok && read.code === 'binary' && needs.readDocument)
          return readAsText({ path, offset, limit }, context)
        if (!read.ok) return failed(read.message)
        noteSeen(context, read)
        return readOutcome(read, `[${read.path} is empty]`, read.trust)
      },
    }),
    // A file that another author changed after the session read it is not overwritten: the model must read it again.
    defineTool({
      name: 'file_write',
      description: 'Write a whole file or block.',
      input: z.object({ path: z.string().min(1), content: z.string() }),
      effect: 'idempotent',
      serial: true,
      core: true,
      reach: () => ({ kind: 'change', destination: null }),
      async run({ path, content }, context) {
        const closed = isBlock(path) && refusals.closed(context.turnId)
        if (closed) return failed(closed)
        const actor = await actorOf(needs, context, content)
        const there = await needs.assets.stat(actor, { path })
        const etag = there.ok ? etags.get(`${context.sessionId} ${there.uri}`) : undefined
        const written = await needs.assets.write(actor, { path, content, etag })
        if (!written.ok) return refuse(written, context)
        noteSeen(context, written)
        if (!written.isChanged) return succeeded(`${written.path} already has this content.`)
        const sizes = await changedBlock(actor, written)
        return succeeded(`Wrote ${written.path}${written.isNew ? ' (new)' : ''}.${sizes}`)
      },
    }),
    defineTool({
      name: 'file_edit',
      description: 'Replace old, which must occur once, with new; with all, every occurrence.',
      input: z.object({ path: z.string().min(1), old: z.string(), new: z.string(), all: z.boolean().optional() }),
      // The replacement may contain the replaced text: a second run would be another edit.
      effect: 'at-most-once',
      serial: true,
      core: true,
      reach: () => ({ kind: 'change', destination: null }),
      async run(edit, context) {
        const closed = isBlock(edit.path) && refusals.closed(context.turnId)
        if (closed) return failed(closed)
        const actor = await actorOf(needs, context, edit.new)
        const edited = await needs.assets.edit(actor, edit)
        if (!edited.ok) return refuse(edited, context)
        noteSeen(context, edited)
        const places = edited.count === 1 ? '' : ` in ${edited.count} places`
        return succeeded(`Edited ${edited.path}${places}.${await changedBlock(actor, edited)}`)
      },
    }),
  ]
}
